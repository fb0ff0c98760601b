import type { Exchange } from './ports/exchange.ts'

/** A task of a weighted queue that somebody has claimed. */
export interface Runner {
  id: string
  queue: string
  rank: number
}

/** More than all workers of a process hold ahead; what is forgotten is made up for by the next start. */
const AHEAD_MAX = 10_000

/**
 * What was claimed ahead from weighted queues: their race has come as far as the last one that was started, and only who
 * claimed it starts it.
 */
export class Runners {
  readonly #ahead = new Map<string, Runner>()

  holdAhead(runner: Runner): void {
    if (this.#ahead.size >= AHEAD_MAX) this.#ahead.clear()
    this.#ahead.set(runner.id, runner)
  }

  /** Those of which this exchange tells that they were started. */
  begun({ starts, outcomes }: Pick<Exchange, 'starts' | 'outcomes'>): Runner[] {
    if (this.#ahead.size === 0) return []
    const begun: Runner[] = []
    for (const { id } of starts) this.#take(id, begun)
    for (const { id, outcome } of outcomes) this.#take(id, outcome.kind === 'returned' ? [] : begun)
    return begun
  }

  #take(id: string, begun: Runner[]): void {
    const runner = this.#ahead.get(id)
    if (runner !== undefined) begun.push(runner)
    this.#ahead.delete(id)
  }
}

/** How far each race has come. */
export function furthest(runners: readonly Runner[]): Map<string, number> {
  const ranks = new Map<string, number>()
  for (const { queue, rank } of runners) ranks.set(queue, Math.max(rank, ranks.get(queue) ?? rank))
  return ranks
}
