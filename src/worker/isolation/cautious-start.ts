import type { Capacity } from '../sources/source.ts'

/**
 * A worker whose last life ended on an item begins with one other item, alone. If it crashes on whatever it is given, that shows before
 * the same item has been blamed too often; if it does not, all goes on as usual.
 */
export class CautiousStart {
  readonly #avoid: readonly string[]
  /** Which have nothing but what it avoids; of so many. */
  readonly #exhausted = new Set<object>()
  readonly #sources: number
  #state: 'looking' | 'running' | 'over'

  constructor(avoid: readonly string[] = [], sources = 1) {
    this.#avoid = avoid
    this.#sources = sources
    this.#state = avoid.length > 0 ? 'looking' : 'over'
  }

  get isLooking(): boolean {
    return this.#state === 'looking'
  }

  /** What may be asked for. */
  narrow(want: Capacity | null): Capacity | null {
    if (want === null) return null
    // However it ended, it is not in our hands any more.
    if (this.#state === 'running' && want.empty) this.#state = 'over'
    if (this.#state === 'over') return want
    if (this.#state === 'running') return null
    return { ...want, start: Math.min(want.start, 1), ahead: 0, avoid: this.#avoid }
  }

  /** So many runs have ended since: it can do more than crash. */
  ended(runs: number): void {
    if (this.#state === 'running' && runs > 0) this.#state = 'over'
  }

  given(claims: number): void {
    if (this.#state === 'looking' && claims > 0) this.#state = 'running'
  }

  /** There is nothing else here. Nor anywhere: then the same again. */
  isOverWithout(source: object): boolean {
    this.#exhausted.add(source)
    if (this.#exhausted.size === this.#sources) this.#state = 'over'
    return this.#state === 'over'
  }
}
