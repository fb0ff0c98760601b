import type { ClaimAbilities, ClaimRequest } from './ports/exchange.ts'

/**
 * What is prefetched comes from so many queues. Tasks of one queue stand close together in the index, and often in the table, so some of
 * each queue write far fewer pages than one of each. A claim prefetches milliseconds of work, so each of a thousand queues still has its
 * turn within half a second.
 */
const PREFETCHED_FROM = 16

/** The queues of a worker as it named them. */
interface Order {
  queues: readonly string[]
  placeOf: ReadonlyMap<string, number>
}

/**
 * Whose turn it is among the queues of a worker: one of each in turn, so that a million waiting in one of them hold up
 * nobody in another. Only in memory: after a restart any queue may be first.
 */
export class Turns {
  readonly #orders = new WeakMap<ClaimAbilities, Order>()
  /** The queue each worker was last served from. */
  readonly #last = new WeakMap<ClaimAbilities, string>()

  served(able: ClaimAbilities, queue: string): void {
    this.#last.set(able, queue)
  }

  /** The queues of a worker, beginning with the one whose turn it is. */
  *of(able: ClaimAbilities): Generator<string> {
    const { queues } = this.#orderOf(able)
    const first = this.#firstPlace(able)
    for (let i = 0; i < queues.length; i++) yield queues[(first + i) % queues.length]!
  }

  /** Only these of its queues, in the same order. */
  among(able: ClaimAbilities, some: Iterable<string>): string[] {
    const { queues, placeOf } = this.#orderOf(able)
    const first = this.#firstPlace(able)
    const turnOf = (queue: string) => (placeOf.get(queue)! - first + queues.length) % queues.length
    return [...some].sort((a, b) => turnOf(a) - turnOf(b))
  }

  #orderOf(able: ClaimAbilities): Order {
    let order = this.#orders.get(able)
    if (order === undefined) {
      const queues = [...new Set(able.queues)]
      order = { queues, placeOf: new Map(queues.map((queue, place) => [queue, place])) }
      this.#orders.set(able, order)
    }
    return order
  }

  #firstPlace(able: ClaimAbilities): number {
    const last = this.#last.get(able)
    return last === undefined ? 0 : (this.#orderOf(able).placeOf.get(last) ?? -1) + 1
  }
}

/** A claim takes at most so many of each queue, if there are many queues. */
export function shareOf({ ahead }: ClaimRequest): number {
  return 1 + Math.floor(ahead / PREFETCHED_FROM)
}

/** Of the queues of claimed tasks, in their order: the one whose turn was the last. */
export function lastInTurn(queues: readonly string[], share: number): string | undefined {
  // One with less than the others leaves its place in the row to the next. With a share each has its turn once.
  return share === 1 ? queues.at(-1) : [...new Set(queues)].at(-1)
}

/** One of each line in turn, and nothing of an empty one, until there are `count`. */
export function inTurn<Item>(lines: readonly (readonly Item[])[], count: number): Item[] {
  const taken: Item[] = []
  const longest = lines.reduce((most, line) => Math.max(most, line.length), 0)
  for (let place = 0; place < longest && taken.length < count; place++) {
    for (const line of lines) if (place < line.length && taken.length < count) taken.push(line[place]!)
  }
  return taken
}
