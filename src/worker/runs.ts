import type { Attempt } from './attempt.ts'

/** Whoever must know what runs even while the event loop is blocked: told before a handler is called. */
export interface RunWatch {
  began(attempt: Attempt): void
  /** Its time begins later, or now. */
  timed(attempt: Attempt): void
  /** The run in this place ended. Null: nobody takes the place; otherwise the run that had the last one. */
  ended(place: number, successor: Attempt | null): void
}

/**
 * The runs under way. A Set would do the same and cost the garbage collector a third of its work: as runs come and go it
 * moves to new tables, and each old one keeps its runs, and the next table, from being collected young.
 */
export class RunningAttempts {
  readonly #all: Attempt[] = []
  readonly #watch: RunWatch | undefined

  constructor(watch?: RunWatch) {
    this.#watch = watch
  }

  get size(): number {
    return this.#all.length
  }

  add(attempt: Attempt): void {
    attempt.place = this.#all.push(attempt) - 1
    this.#watch?.began(attempt)
  }

  time(attempt: Attempt, deadlineMs: number): void {
    attempt.deadlineMs = deadlineMs
    this.#watch?.timed(attempt)
  }

  /** The last one takes its place. */
  delete({ place }: Attempt): void {
    const last = this.#all.pop()!
    if (place === this.#all.length) return this.#watch?.ended(place, null)
    this.#all[place] = last
    last.place = place
    this.#watch?.ended(place, last)
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.#all.values()
  }
}
