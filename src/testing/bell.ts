/** Rings whenever something has changed, so that whoever waits looks again. */
export class Bell {
  #waiting: (() => void)[] = []

  // Bound, because it is passed on by itself.
  readonly ring = (): void => {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
