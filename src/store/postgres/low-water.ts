import type { Clock } from '../../clock.ts'
import { PRIORITY_LAST, PRIORITY_STEP } from '../../model/rank.ts'

/** Entries of the index that led to nothing; a walk over so many still takes no more than a millisecond or two. */
const LITTER_MAX = 10_000

/** After a walk over more than that claims keep off it for so long: a small share of the time goes into such walks. */
const ENTRIES_PER_REST_MS = 100
const REST_MAX_MS = 1_000

/** Priorities of a lane that have a mark; the one that was not seen for longest goes. */
const MARKS_MAX = 16

const RANK_END = (PRIORITY_LAST + 1) * PRIORITY_STEP

/** Where a claim looks: in each of these lanes at the ranks from `from` until before `to`. */
export interface Path {
  /** Nothing is left out. */
  whole: boolean
  lanes: number[]
  from: number[]
  to: number[]
}

/** What a walk came upon. */
export interface Walk {
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
  #walkAgainMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Until the next walk over everything; 0 when all are. */
  walkAgainInMs(): number {
    return Math.max(0, this.#walkAgainMs - this.#clock.monotonicMs())
  }

  pathOf(lanes: readonly number[]): Path {
    if (this.walkAgainInMs() === 0) return wholePath(lanes)
    const path: Path = { whole: false, lanes: [], from: [], to: [] }
    for (const lane of lanes) {
      let from = 0
      for (const [priority, mark] of [...(this.#marks.get(lane) ?? [])].sort(([a], [b]) => a - b)) {
        add(path, lane, from, priority * PRIORITY_STEP)
        from = mark
      }
      add(path, lane, from, RANK_END)
    }
    return path
  }

  walked(path: Path, { entries, taken }: Walk): void {
    this.#mark(taken)
    if (!path.whole) return
    const restMs = Math.min(Math.ceil(entries / ENTRIES_PER_REST_MS), REST_MAX_MS)
    this.#walkAgainMs = entries < LITTER_MAX ? 0 : this.#clock.monotonicMs() + restMs
  }

  /** Nothing that is committed waits before the first that was taken of a priority: it would have been taken. */
  #mark(taken: Walk['taken']): void {
    for (const [lane, lowest] of lowestOf(taken)) {
      const others = [...(this.#marks.get(lane) ?? [])].filter(([priority]) => !lowest.has(priority))
      this.#marks.set(lane, new Map([...others, ...lowest].slice(-MARKS_MAX)))
    }
  }
}

export function wholePath(lanes: readonly number[]): Path {
  const path: Path = { whole: true, lanes: [], from: [], to: [] }
  for (const lane of lanes) add(path, lane, 0, RANK_END)
  return path
}

function add(path: Path, lane: number, from: number, to: number): void {
  path.lanes.push(lane)
  path.from.push(from)
  path.to.push(to)
}

/** By lane and priority. */
function lowestOf(taken: Walk['taken']): Map<number, Map<number, number>> {
  const lanes = new Map<number, Map<number, number>>()
  for (const { lane, rank } of taken) {
    const lowest = lanes.get(lane) ?? new Map<number, number>()
    const priority = Math.floor(rank / PRIORITY_STEP)
    lanes.set(lane, lowest.set(priority, Math.min(rank, lowest.get(priority) ?? rank)))
  }
  return lanes
}
