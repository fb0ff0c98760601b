import { setTimeout as sleep } from 'node:timers/promises'

const DELAY_MS = 100
const DELAY_MAX_MS = 3_000
const LOG_EVERY_MS = 60_000

/** Makes guessing slow, and tells the log of it. Right tokens never wait. */
export class WrongTokens {
  readonly #onProblem: (message: string, error: unknown) => void
  #waiting = 0
  #unlogged = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(onProblem: (message: string, error: unknown) => void) {
    this.#onProblem = onProblem
  }

  /** The more wrong tokens arrive at once, the longer each waits for its answer. */
  async slowDown(address: string | null): Promise<void> {
    this.#log(address)
    this.#waiting += 1
    await sleep(Math.min(DELAY_MS * this.#waiting, DELAY_MAX_MS), undefined, { ref: false })
    this.#waiting -= 1
  }

  #log(address: string | null): void {
    this.#unlogged += 1
    const now = performance.now()
    if (now - this.#loggedAt < LOG_EVERY_MS) return
    const requests = this.#unlogged === 1 ? 'a request' : `${this.#unlogged} requests`
    this.#onProblem(
      `refused ${requests} with an unknown token`,
      new Error(`the last one came from ${address ?? 'an unknown address'}`),
    )
    this.#unlogged = 0
    this.#loggedAt = now
  }
}
