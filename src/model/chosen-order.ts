import type { Ordering, Strategy } from './queue.ts'
import { PRIORITY_STEP } from './rank.ts'

/** Orders that a worker chose for queues that it serves, and that definitions chose among their own tasks. */
export interface ChosenOrders {
  /** By the name of the queue. */
  queues: ReadonlyMap<string, Strategy>
  /** By the name of the task. */
  tasks: ReadonlyMap<string, Strategy>
}

/** Without an order of their own, almost all workers claim as the queues are stored. */
export function chosenOrders(
  queues: ReadonlyMap<string, Strategy>,
  tasks: ReadonlyMap<string, Strategy>,
): ChosenOrders | undefined {
  return queues.size + tasks.size === 0 ? undefined : { queues, tasks }
}

/**
 * Waiting tasks that a claim compares when the stored ranks do not contain the chosen order. The part of the index that a claim
 * reads must be bounded.
 */
export const COMPARED_MAX = 1_000

/** A waiting task, as far as any order needs it. */
export interface WaitingTask {
  id: number
  rank: number
  priority: number
  /** When it became due. */
  queuedAt: number
}

/** A task where a claim finds it. `rank`: its place among the candidates of the claim, comparable within one queue. */
export interface Placed {
  id: number
  rank: number
}

/**
 * The ranks of a queue without chance and without ageing have the moment in their lower part, and the priority above it, if at
 * all. So the tasks of one priority are one stretch of the index, in the order in which they became due.
 */
export function hasMoments({ strategy, ageingMs }: Ordering): boolean {
  return strategy !== 'weighted' && ageingMs === null
}

/** Tasks of each priority that have to be read, so that the first `count` in the chosen order are among them. */
export function readFromEach(
  stored: Ordering,
  chosen: Strategy,
  { count, priorities }: { count: number; priorities: number },
): number {
  const isExact = hasMoments(stored) && (chosen === 'fifo' || chosen === 'lifo')
  return isExact ? count : Math.max(count, Math.ceil(COMPARED_MAX / Math.max(1, priorities)))
}

/** The task at its place in the chosen order. With `lifo`, the last place is first. */
export function placeIn(
  stored: Ordering,
  chosen: Strategy,
  { id, rank, priority, queuedAt }: WaitingTask,
  random: () => number,
): Placed {
  switch (chosen) {
    case 'fifo':
    case 'lifo':
      return { id, rank: hasMoments(stored) ? momentOf(rank) : queuedAt }
    case 'priority':
      return { id, rank: priority * PRIORITY_STEP + queuedAt }
    case 'weighted':
      return { id, rank: -Math.log(1 - random()) * priority }
  }
}

function momentOf(rank: number): number {
  return rank - Math.floor(rank / PRIORITY_STEP) * PRIORITY_STEP
}

/**
 * A type of task gets its turns as the order of the queue says; which of its tasks takes each turn, its own order says. Both lists
 * are of the same tasks, or of as many.
 */
export function takeTurns<Task extends Placed>(
  turns: readonly Placed[],
  own: readonly Task[],
): (Task & { turnOf: number })[] {
  return own
    .slice(0, turns.length)
    .map((task, i) => ({ ...task, rank: turns[i]!.rank, turnOf: turns[i]!.id }))
}
