import type { Clock } from '../clock.ts'
import {
  afterDeath,
  afterHealth,
  amended,
  NO_RESTARTS,
  type RestartPolicy,
  type RestartState,
  recentOf,
  type Verdict,
} from '../model/restart.ts'
import type { Legacy } from './aftermath.ts'
import type { Child, Exit } from './child.ts'
import { crashedOn, deathOf } from './death.ts'

/** A verdict does not wait for a database that is away: what the last frame said must do then. */
const LEGACY_WITHIN_MS = 1_000

/** An end of a process, and what is found out of what it held. */
export interface End {
  child: Child
  exit: Exit
  settled: Promise<Legacy>
}

/** What the ends of a worker's processes mean for its next one. */
export class Restarts {
  readonly #policy: RestartPolicy
  readonly #clock: Clock
  state: RestartState
  /** Items that its last lives ended on, without having done anything else. */
  crashedOn: readonly string[] = []

  constructor(policy: RestartPolicy, clock: Clock, state: RestartState = NO_RESTARTS) {
    this.#policy = policy
    this.#clock = clock
    this.state = state
  }

  get counts(): { recent: number; total: number } {
    return { recent: recentOf(this.#policy, this.state, this.#clock.now()), total: this.state.total }
  }

  /** `onAmended` is called when it was a guess, and a wrong one: with what follows from the truth. */
  async after({ child, exit, settled }: End, onAmended: (verdict: Verdict) => void): Promise<Verdict> {
    const known = await this.#within(settled)
    const at = this.#clock.now()
    const legacy = known ?? guessOf(child)
    this.crashedOn = crashedOn(child, legacy, this.crashedOn)
    const death = deathOf(child, exit, legacy)
    if (known === undefined)
      void settled.then((truth) => {
        // Held by nobody may mean that somebody else has given it back: that takes no guess away.
        if (!truth.inFlight && !truth.workerBroken) return
        const found = { guess: death, truth: deathOf(child, exit, truth), at }
        if (found.truth === death) return
        onAmended(this.#keep(amended(this.#policy, this.state, found)))
      })
    return this.#keep(afterDeath(this.#policy, this.state, death, at))
  }

  wasHealthyFor(ms: number): void {
    this.state = afterHealth(this.#policy, this.state, ms)
  }

  forget(): void {
    this.state = NO_RESTARTS
  }

  #keep({ state, verdict }: { state: RestartState; verdict: Verdict }): Verdict {
    this.state = state
    return verdict
  }

  async #within(settled: Promise<Legacy>): Promise<Legacy | undefined> {
    let cancel = () => {}
    const over = new Promise<undefined>((resolve) => {
      cancel = this.#clock.after(LEGACY_WITHIN_MS, () => resolve(undefined))
    })
    const legacy = await Promise.race([settled, over])
    cancel()
    return legacy
  }
}

/** What its last frame makes us think of it. */
function guessOf({ frame }: Child): Legacy {
  return { inFlight: (frame?.current.length ?? 0) > 0, blamed: null, workerBroken: false }
}
