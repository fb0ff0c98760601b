/** Looking takes a tenth of the thread, at most: the rest belongs to the work. */
const RESTS_PER_LOOK = 9

/** Looks when something may have changed: soon, not too often, and never twice at a time. */
export class Lookout {
  readonly #look: () => Promise<void>
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #again = false
  /** When somebody waits for it: no rest is longer. */
  #wantedMs: number | null = null
  #notBefore = 0

  constructor(look: () => Promise<void>, everyMs: number) {
    this.#look = look
    this.#everyMs = everyMs
  }

  /** Called for every change there is, so it does next to nothing. */
  soon(): void {
    if (this.#looking) this.#again = true
    else this.#timer ??= setTimeout(() => this.#now(), this.#restMs()).unref()
  }

  /** Somebody has done something and waits to see it: that is worth a look without a rest. */
  hurry(withinMs: number): void {
    this.#wantedMs = performance.now() + withinMs
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.soon()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#again = false
  }

  #restMs(): number {
    return Math.max(0, (this.#wantedMs ?? this.#notBefore) - performance.now())
  }

  async #now(): Promise<void> {
    const sinceMs = performance.now()
    this.#timer = undefined
    this.#looking = true
    this.#again = false
    this.#wantedMs = null
    await this.#look()
    const endedMs = performance.now()
    this.#notBefore = Math.max(sinceMs + this.#everyMs, endedMs + RESTS_PER_LOOK * (endedMs - sinceMs))
    this.#looking = false
    if (this.#again) this.soon()
  }
}
