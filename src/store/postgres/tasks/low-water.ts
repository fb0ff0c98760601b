import type { Clock } from '../../../clock.ts'
import { PRIORITY_STEP, RANK_END, RANK_MIN } from '../../../model/rank.ts'

/** Entries of the index that led to nothing; a walk over so many still takes no more than a millisecond or two. */
const LITTER_MAX = 10_000

/** After a walk over more than that claims keep off it for so long: a small share of the time goes into such walks. */
const ENTRIES_PER_REST_MS = 100
const REST_MAX_MS = 1_000

/** Priorities of a lane that have a mark; the one that was not seen for longest goes. */
const MARKS_MAX = 16

/** A lane or a line to walk, and which way: a queue whose last is first is walked backwards. */
export interface LanePath {
  /** Below 0: a line. */
  lane: number
  lastFirst: boolean
  /** When it is the turn of its queue. */
  turn: number
}

/** Where a claim looks: in each of these lanes at the ranks from `from` until before `to`. */
export interface Path {
  /** Nothing is left out. */
  whole: boolean
  lanes: number[]
  from: number[]
  to: number[]
  lastFirst: boolean[]
  turn: number[]
}

/** Ranks to leave out: from `from` until before `to`. */
interface Gap {
  from: number
  to: number
}

/** What a walk came upon. */
export interface WalkedPath {
  /** Entries of the index it read, dead or alive. Always 0 where the server does not count (`track_counts`). */
  entries: number
  taken: readonly { lane: number; rank: number }[]
}

/**
 * Where the waiting tasks of each lane and priority begin, for bad times. Rows that were claimed stay in the index until
 * nobody can see them any more, which a transaction held open somewhere can put off for hours; claims that begin at the
 * start would step over all of them each time. Once there are many, claims leave out what was dead before the last one
 * that was found, and only now and then walk over everything: what became claimable there meanwhile (committed late, or
 * given back) waits that long. Another priority is another place, and is found at once.
 */
export class LowWater {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By lane, then by priority: the lowest rank that may still be alive. */
  readonly #marks = new Map<number, Map<number, number>>()
  /** By lane, where its last is first: between which ranks nothing was left. */
  readonly #gaps = new Map<number, Gap[]>()
  #walkAgainMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Until the next walk over everything; 0 when all are. */
  walkAgainInMs(): number {
    return Math.max(0, this.#walkAgainMs - this.#clock.monotonicMs())
  }

  pathOf(ways: readonly LanePath[]): Path {
    if (this.walkAgainInMs() === 0) return wholePath(ways)
    const path = emptyPath(false)
    for (const way of ways) {
      let from = RANK_MIN
      for (const gap of way.lastFirst ? this.#gapsOf(way.lane) : this.#gapsBeforeMarks(way.lane)) {
        add(path, way, from, gap.from)
        from = gap.to
      }
      add(path, way, from, RANK_END)
    }
    return path
  }

  #gapsBeforeMarks(lane: number): Gap[] {
    const marks = [...(this.#marks.get(lane) ?? [])].sort(([a], [b]) => a - b)
    return marks.map(([priority, mark]) => ({ from: priority * PRIORITY_STEP, to: mark }))
  }

  #gapsOf(lane: number): Gap[] {
    return (this.#gaps.get(lane) ?? []).toSorted((a, b) => a.from - b.from)
  }

  walked(path: Path, { entries, taken }: WalkedPath): void {
    const backwards = new Set(path.lanes.filter((_, i) => path.lastFirst[i]))
    this.#mark(taken.filter(({ lane }) => !backwards.has(lane)))
    for (const lane of backwards)
      this.#leave(
        lane,
        taken.filter((one) => one.lane === lane).map(({ rank }) => rank),
      )
    if (!path.whole) return
    const restMs = Math.min(Math.ceil(entries / ENTRIES_PER_REST_MS), REST_MAX_MS)
    this.#walkAgainMs = entries < LITTER_MAX ? 0 : this.#clock.monotonicMs() + restMs
  }

  /** From the end: nothing that is committed is left behind the last that was taken. Its own rank others may have, too. */
  #leave(lane: number, ranks: readonly number[]): void {
    if (ranks.length === 0) return
    const lowest = Math.min(...ranks)
    const gaps = this.#gaps.get(lane) ?? []
    const passed = gaps.filter(({ to }) => to > lowest)
    const highest = Math.max(...ranks, ...passed.map(({ to }) => to))
    const others = gaps.filter(({ to }) => to <= lowest)
    this.#gaps.set(lane, [...others, { from: lowest + 1, to: highest }].slice(-MARKS_MAX))
  }

  /** Nothing that is committed waits before the first that was taken of a priority: it would have been taken. */
  #mark(taken: WalkedPath['taken']): void {
    for (const [lane, lowest] of lowestOf(taken)) {
      const others = [...(this.#marks.get(lane) ?? [])].filter(([priority]) => !lowest.has(priority))
      this.#marks.set(lane, new Map([...others, ...lowest].slice(-MARKS_MAX)))
    }
  }
}

export function wholePath(ways: readonly LanePath[]): Path {
  const path = emptyPath(true)
  for (const way of ways) add(path, way, RANK_MIN, RANK_END)
  return path
}

function emptyPath(whole: boolean): Path {
  return { whole, lanes: [], from: [], to: [], lastFirst: [], turn: [] }
}

function add(path: Path, { lane, lastFirst, turn }: LanePath, from: number, to: number): void {
  if (from >= to) return
  path.lanes.push(lane)
  path.from.push(from)
  path.to.push(to)
  path.lastFirst.push(lastFirst)
  path.turn.push(turn)
}

/** By lane and priority. */
function lowestOf(taken: WalkedPath['taken']): Map<number, Map<number, number>> {
  const lanes = new Map<number, Map<number, number>>()
  for (const { lane, rank } of taken) {
    const lowest = lanes.get(lane) ?? new Map<number, number>()
    const priority = Math.floor(rank / PRIORITY_STEP)
    lanes.set(lane, lowest.set(priority, Math.min(rank, lowest.get(priority) ?? rank)))
  }
  return lanes
}
