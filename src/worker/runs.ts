import type { Execution } from './execution.ts'

/**
 * The runs under way. A Set would do the same and cost the garbage collector a third of its work: as runs come and go it
 * moves to new tables, and each old one keeps its runs, and the next table, from being collected young.
 */
export class Runs {
  readonly #all: Execution[] = []

  get size(): number {
    return this.#all.length
  }

  add(execution: Execution): void {
    execution.place = this.#all.push(execution) - 1
  }

  /** The last one takes its place. */
  delete({ place }: Execution): void {
    const last = this.#all.pop()!
    if (place === this.#all.length) return
    this.#all[place] = last
    last.place = place
  }

  [Symbol.iterator](): Iterator<Execution> {
    return this.#all.values()
  }
}
