import type { Clock } from '../clock.ts'
import type { EndCause } from '../model/session.ts'
import { isProvedDead, type ProcessIdentity } from '../process-identity.ts'
import type { LiveSession, SessionEnd, Store } from '../store/contract.ts'

export interface SweeperOptions {
  leaseMs: number
  everyMs: number
  onEnded?: (session: LiveSession, cause: EndCause, end: SessionEnd) => void | Promise<void>
  /** For tests on one machine. */
  isDead?: (process: ProcessIdentity) => boolean
}

interface Sighting {
  renewals: number
  /** For how long we have watched it unchanged. */
  unchangedMs: number
}

/** Finds sessions whose worker is gone, and gives back what they held. Any process may run one. */
export class Sweeper {
  readonly #store: Store
  readonly #clock: Clock
  readonly #options: SweeperOptions
  readonly #sightings = new Map<string, Sighting>()
  #lastSweepMs: number
  #cancel: (() => void) | undefined
  #stopped = false

  constructor(store: Store, clock: Clock, options: SweeperOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
    this.#lastSweepMs = clock.monotonicMs()
  }

  start(): void {
    // A look that fails is repeated: the sweep is there for bad times.
    void this.sweep()
      .catch(() => {})
      .then(() => {
        if (!this.#stopped) this.#cancel = this.#clock.after(this.#options.everyMs, () => this.start())
      })
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  async sweep(): Promise<void> {
    const elapsedMs = this.#elapsed()
    const sessions = await this.#store.liveSessions()
    for (const session of sessions) {
      const cause = this.#causeOfDeath(session, elapsedMs)
      if (cause === null) continue
      // A renewal that came in between proves it alive; a dead process renews nothing.
      const condition = cause === 'lease' ? { renewals: session.renewals } : undefined
      const end = await this.#store.endSession(session.id, cause, condition)
      if (end !== null) await this.#options.onEnded?.(session, cause, end)
    }
    const live = new Set(sessions.map((session) => session.id))
    for (const id of this.#sightings.keys()) if (!live.has(id)) this.#sightings.delete(id)
  }

  /**
   * Our own time, as far as we were there to watch: after a gap (a closed lid, a stopped process, a database that was
   * locked) the others get the time to renew that they did not have either.
   */
  #elapsed(): number {
    const now = this.#clock.monotonicMs()
    const elapsedMs = Math.min(now - this.#lastSweepMs, this.#options.everyMs * 2)
    this.#lastSweepMs = now
    return elapsedMs
  }

  /** Its supervisor saw it end, knows why, and is about to say so. Should he not, the lease will be over. */
  #isLookedAfter({ supervisor }: LiveSession): boolean {
    return supervisor !== null && !this.#isDead(supervisor)
  }

  #isDead(process: ProcessIdentity): boolean {
    return (this.#options.isDead ?? isProvedDead)(process)
  }

  #causeOfDeath(session: LiveSession, elapsedMs: number): EndCause | null {
    if (this.#isDead(session.process) && !this.#isLookedAfter(session)) return 'crash'
    // The server's own clock, where there is one, has watched for all of us.
    if (session.unrenewedMs !== null) return session.unrenewedMs >= this.#options.leaseMs ? 'lease' : null
    const seen = this.#sightings.get(session.id)
    const unchangedMs = seen?.renewals === session.renewals ? seen.unchangedMs + elapsedMs : 0
    this.#sightings.set(session.id, { renewals: session.renewals, unchangedMs })
    return unchangedMs >= this.#options.leaseMs ? 'lease' : null
  }
}
