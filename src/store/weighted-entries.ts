import type { Exchange } from './ports/exchange.ts'

/** A claimed task of a weighted queue. */
export interface WeightedEntry {
  id: string
  queue: string
  rank: number
}

/** More than all workers of a process prefetch. If entries are forgotten, the next start corrects the virtual time. */
const AHEAD_MAX = 10_000

/**
 * Prefetched tasks of weighted queues. The virtual time of a queue is the rank of the last task that was started, and only the worker that
 * claimed a task starts it.
 */
export class WeightedEntries {
  readonly #ahead = new Map<string, WeightedEntry>()

  holdAhead(entry: WeightedEntry): void {
    if (this.#ahead.size >= AHEAD_MAX) this.#ahead.clear()
    this.#ahead.set(entry.id, entry)
  }

  /** The entries whose tasks this exchange reports as started. */
  begun({ starts, outcomes }: Pick<Exchange, 'starts' | 'outcomes'>): WeightedEntry[] {
    if (this.#ahead.size === 0) return []
    const begun: WeightedEntry[] = []
    for (const { id } of starts) this.#take(id, begun)
    for (const { id, outcome } of outcomes) this.#take(id, outcome.kind === 'returned' ? [] : begun)
    return begun
  }

  #take(id: string, begun: WeightedEntry[]): void {
    const entry = this.#ahead.get(id)
    if (entry !== undefined) begun.push(entry)
    this.#ahead.delete(id)
  }
}

/** The virtual time of each queue. */
export function virtualTimes(entries: readonly WeightedEntry[]): Map<string, number> {
  const ranks = new Map<string, number>()
  for (const { queue, rank } of entries) ranks.set(queue, Math.max(rank, ranks.get(queue) ?? rank))
  return ranks
}
