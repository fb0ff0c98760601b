/** Walks that take longer, several in a row, have many dead rows to step over; a single one had a busy server. */
const SLOW_WALK_MS = 10
const SLOW_WALKS = 3

/** Walks from the beginning take this share of the time at most. */
const WALK_SHARE = 0.02

/**
 * Where the waiting tasks of each lane begin, for bad times. Rows that were claimed stay in the index until nobody can
 * see them any more, which a transaction held open somewhere can put off for hours; claims that begin at the start would
 * step over all of them each time. Once that is slow, claims begin where the last one found something, and only now and
 * then at the start: what became claimable before the mark (a higher priority, something given back) waits that long.
 */
export class LowWater {
  readonly #marks = new Map<number, number>()
  #walkAgainMs = 0
  #slowWalks = 0

  /** From where to look in each of these lanes. */
  marksOf(lanes: readonly number[]): number[] {
    const walk = performance.now() >= this.#walkAgainMs
    return lanes.map((lane) => (walk ? 0 : (this.#marks.get(lane) ?? 0)))
  }

  /** Until the next claim that begins at the start; 0 when all do. */
  walkAgainInMs(): number {
    return Math.max(0, this.#walkAgainMs - performance.now())
  }

  /** What a claim has found: nothing that is committed waits before the first it took. */
  walked(marks: readonly number[], taken: readonly { lane: number; rank: number }[], tookMs: number): void {
    if (marks.includes(0)) {
      this.#slowWalks = tookMs < SLOW_WALK_MS ? 0 : this.#slowWalks + 1
      this.#walkAgainMs = this.#slowWalks < SLOW_WALKS ? 0 : performance.now() + tookMs / WALK_SHARE
    }
    const first = new Map<number, number>()
    for (const { lane, rank } of taken) first.set(lane, Math.min(rank, first.get(lane) ?? rank))
    for (const [lane, rank] of first) this.#marks.set(lane, rank)
  }
}
