import type { Execution } from './attempt.ts'

/** Whoever must know what runs even while the event loop is blocked: told before a handler is called. */
export interface RunWatch {
  began(execution: Execution): void
  /** Its time begins later, or now. */
  timed(execution: Execution): void
  /** The run in this place ended. Null: nobody takes the place; otherwise the run that had the last one. */
  ended(place: number, successor: Execution | null): void
}

/**
 * The runs under way. A Set would do the same and cost the garbage collector a third of its work: as runs come and go it
 * moves to new tables, and each old one keeps its runs, and the next table, from being collected young.
 */
export class Runs {
  readonly #all: Execution[] = []
  readonly #watch: RunWatch | undefined

  constructor(watch?: RunWatch) {
    this.#watch = watch
  }

  get size(): number {
    return this.#all.length
  }

  add(execution: Execution): void {
    execution.place = this.#all.push(execution) - 1
    this.#watch?.began(execution)
  }

  time(execution: Execution, deadlineMs: number): void {
    execution.deadlineMs = deadlineMs
    this.#watch?.timed(execution)
  }

  /** The last one takes its place. */
  delete({ place }: Execution): void {
    const last = this.#all.pop()!
    if (place === this.#all.length) return this.#watch?.ended(place, null)
    this.#all[place] = last
    last.place = place
    this.#watch?.ended(place, last)
  }

  [Symbol.iterator](): Iterator<Execution> {
    return this.#all.values()
  }
}
