const SHARE_MAX = 64

/** How many tasks of each key the next claim of a queue takes: more while keys have many, so that it locks and counts fewer keys. */
export class KeyShares {
  readonly #shares = new Map<string, number>()

  of(queue: string, most: number): number {
    return Math.min(most, this.#shares.get(queue) ?? 1)
  }

  gave(queue: string, enough: boolean): void {
    const share = this.#shares.get(queue) ?? 1
    this.#shares.set(queue, enough ? Math.min(SHARE_MAX, 2 * share) : Math.max(1, Math.floor(share / 2)))
  }
}
