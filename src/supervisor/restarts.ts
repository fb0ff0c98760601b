import type { Clock } from '../clock.ts'
import { crashedOn, exitCauseOf, guessRecovered, type ProcessExit, type Recovered } from '../model/exit.ts'
import {
  afterExit,
  afterHealth,
  amended,
  NO_RESTARTS,
  type RestartDecision,
  type RestartPolicy,
  type RestartState,
  recentOf,
} from '../model/restart.ts'

/** A decision does not wait for a database that is away: then it follows from the last frame. */
const RECOVERED_WITHIN_MS = 1_000

/** What the exits of a worker's processes mean for its next process. */
export class Restarts {
  readonly #policy: RestartPolicy
  readonly #clock: Clock
  state: RestartState
  /** The items on which its last processes ended, without having done anything else. */
  crashedOn: readonly string[] = []

  constructor(policy: RestartPolicy, clock: Clock, state: RestartState = NO_RESTARTS) {
    this.#policy = policy
    this.#clock = clock
    this.state = state
  }

  get counts(): { recent: number; total: number } {
    return { recent: recentOf(this.#policy, this.state, this.#clock.now()), total: this.state.total }
  }

  /** If the decision followed from a guess that turns out to be wrong, `onAmended` is called with the right decision. */
  async after(
    exit: ProcessExit,
    recovering: Promise<Recovered>,
    onAmended: (decision: RestartDecision) => void,
  ): Promise<RestartDecision> {
    const known = await this.#within(recovering)
    const at = this.#clock.now()
    const recovered = known ?? guessRecovered(exit)
    this.crashedOn = crashedOn(exit, recovered, this.crashedOn)
    const cause = exitCauseOf(exit, recovered)
    if (known === undefined)
      void recovering.then((truth) => {
        // If the database knows of nothing, another process may have given it back: the guess stays.
        if (!truth.inFlight && !truth.workerBroken) return
        const found = { guess: cause, truth: exitCauseOf(exit, truth), at }
        if (found.truth === cause) return
        onAmended(this.#keep(amended(this.#policy, this.state, found)))
      })
    return this.#keep(afterExit(this.#policy, this.state, cause, at))
  }

  wasHealthyFor(ms: number): void {
    this.state = afterHealth(this.#policy, this.state, ms)
  }

  forget(): void {
    this.state = NO_RESTARTS
  }

  #keep({ state, decision }: { state: RestartState; decision: RestartDecision }): RestartDecision {
    this.state = state
    return decision
  }

  async #within(recovering: Promise<Recovered>): Promise<Recovered | undefined> {
    let cancel = () => {}
    const over = new Promise<undefined>((resolve) => {
      cancel = this.#clock.after(RECOVERED_WITHIN_MS, () => resolve(undefined))
    })
    const recovered = await Promise.race([recovering, over])
    cancel()
    return recovered
  }
}
