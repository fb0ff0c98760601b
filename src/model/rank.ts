import { isSameOrdering, type Ordering } from './queue.ts'

/** Where a task stands among those that wait in its queue: drawn whenever it becomes queued, and walked in order. */

export const PRIORITY_FIRST = 1
export const PRIORITY_LAST = 1000
export const PRIORITY_DEFAULT = 100

/** More than any time in milliseconds until the year 2109; 1000 steps still fit an era. */
export const PRIORITY_STEP = 2 ** 42

/**
 * Ranks of different orderings cannot be compared. Each change of a queue's ordering begins another era, whose ranks
 * lie apart: so everybody sees by its rank whether a task stands where it should, and nothing else has to be remembered.
 */
export const ERA_SPAN = 2 ** 52
const ERA_STARTS = [0, ERA_SPAN, -2 * ERA_SPAN, -ERA_SPAN]
export const ERAS = ERA_STARTS.length
export const RANK_MIN = -2 * ERA_SPAN
/** Below this, and above RANK_MIN, are all ranks. */
export const RANK_END = 2 * ERA_SPAN

/** What a step of priority is worth in a race; fine enough for a million runners. */
const RACE_UNIT = 2 ** 20
/** A race that has come this far begins anew, long before its ranks would leave their era. */
export const VIRTUAL_TIME_LENGTH = ERA_SPAN / 2

/** How a queue's ranks are drawn. */
export interface Ranking extends Ordering {
  era: number
}

/** The ranks of an era: from `start` until before `end`. */
export function generationBounds(era: number): { start: number; end: number } {
  const start = ERA_STARTS[era]!
  return { start, end: start + ERA_SPAN }
}

export function isOfGeneration(rank: number, era: number): boolean {
  const { start, end } = generationBounds(era)
  return rank >= start && rank < end
}

/**
 * `moment`: when it became queued; in a `weighted` queue the queue's own time, which is how far the race has come.
 * `random`: from 0 to less than 1.
 */
export function rankOf(ranking: Ranking, priority: number, moment: number, random: () => number): number {
  return distanceOf(ranking, priority, random) + moment
}

/** A rank without its moment, for a database that knows the moment better. */
export function distanceOf(ranking: Ranking, priority: number, random: () => number): number {
  return generationBounds(ranking.era).start + ownDistance(ranking, priority, random)
}

function ownDistance({ strategy, ageingMs }: Ranking, priority: number, random: () => number): number {
  switch (strategy) {
    case 'fifo':
    case 'lifo':
      return 0
    case 'priority':
      return priority * (ageingMs ?? PRIORITY_STEP)
    case 'weighted':
      // A race in which each has an exponential time to go, on average its priority: so whoever joins late, at the place
      // of the last who came in, has the same chances as one who has run all the way.
      return Math.max(1, Math.round(-Math.log(1 - random()) * priority * RACE_UNIT))
  }
}

/**
 * Where one that is due stands before it is ranked: `base + priority × step + due × perMs`. Mostly that will be its rank; in
 * a weighted queue nobody knows before it is drawn, and it stands last.
 */
export function placeOfDue(ranking: Ranking): { base: number; step: number; perMs: 0 | 1 } {
  const { start, end } = generationBounds(ranking.era)
  if (ranking.strategy === 'weighted') return { base: end - 1, step: 0, perMs: 0 }
  const step = ranking.strategy === 'priority' ? (ranking.ageingMs ?? PRIORITY_STEP) : 0
  return { base: start, step, perMs: 1 }
}

/** The same ranks serve both; one is walked backwards. */
export function isLastFirst({ strategy }: Ordering): boolean {
  return strategy === 'lifo'
}

/** Whether what waits has to be ranked anew. */
export function isRankedAlike(a: Ordering, b: Ordering): boolean {
  const byTime = (one: Ordering) => one.strategy === 'fifo' || one.strategy === 'lifo'
  return (byTime(a) && byTime(b)) || isSameOrdering(a, b)
}

/** How far the race of a weighted queue has come when this one starts; null: its rank is of another era. */
export function virtualTime(ranking: Ranking, startedRank: number): number | null {
  return isOfGeneration(startedRank, ranking.era) ? startedRank - generationBounds(ranking.era).start : null
}
