import type { Able } from './contract.ts'

/**
 * Whose turn it is among the queues of a worker: one of each in turn, so that a million waiting in one of them hold up
 * nobody in another. Only in memory: after a restart any queue may be first.
 */
export class Turns {
  /** The queue each worker was last served from. */
  readonly #last = new WeakMap<Able, string>()

  /** The queues of a worker, beginning with the one whose turn it is. */
  of(able: Able): string[] {
    const queues = [...new Set(able.queues)]
    const last = this.#last.get(able)
    const next = last === undefined ? 0 : queues.indexOf(last) + 1
    return [...queues.slice(next), ...queues.slice(0, next)]
  }

  served(able: Able, queue: string): void {
    this.#last.set(able, queue)
  }
}

/** One of each line in turn, and nothing of an empty one, until there are `count`. */
export function inTurn<Item>(lines: readonly (readonly Item[])[], count: number): Item[] {
  const taken: Item[] = []
  const longest = Math.max(0, ...lines.map((line) => line.length))
  for (let place = 0; place < longest && taken.length < count; place++) {
    for (const line of lines) if (place < line.length && taken.length < count) taken.push(line[place]!)
  }
  return taken
}
