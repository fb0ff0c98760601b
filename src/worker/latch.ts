import type { Clock } from '../clock.ts'

/** Those who wait for something to happen, but not for ever. */
export class Latch {
  #waiting: (() => void)[] = []

  within(ms: number, clock: Clock): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(ms, resolve)
      this.#waiting.push(() => {
        cancel()
        resolve()
      })
    })
  }

  happened(): void {
    for (const tell of this.#waiting.splice(0)) tell()
  }
}
