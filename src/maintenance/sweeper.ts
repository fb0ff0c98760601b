import type { Clock } from '../clock.ts'
import { hasExpired } from '../model/lease-clock.ts'
import type { EndCause } from '../model/session.ts'
import { isInSight, isProvedDead, type ProcessIdentity } from '../process-identity.ts'
import type { LiveSession, SessionEnd } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'

export interface SweeperOptions {
  leaseMs: number
  everyMs: number
  onEnded?: (session: LiveSession, cause: EndCause, end: SessionEnd) => void | Promise<void>
  /** For tests on one machine. */
  isDead?: (process: ProcessIdentity) => boolean
}

/** So many processes of a machine look as often as they may. More share the looks, and each looks at most so much more seldom. */
const [OFTEN, SELDOM_MAX] = [4, 5]

/** Finds sessions whose worker is gone, and gives back what they held. Any process may run one. */
export class Sweeper {
  readonly #store: Pick<Store, 'sessions' | 'remote'>
  readonly #clock: Clock
  readonly #options: SweeperOptions
  #advanced = false
  #restMs: number
  #cancel: (() => void) | undefined
  #stopped = false

  constructor(store: Pick<Store, 'sessions' | 'remote'>, clock: Clock, options: SweeperOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
    this.#restMs = options.everyMs
  }

  start(): void {
    // A look that fails is repeated: the sweep is there for bad times.
    void this.#round()
      .catch(() => {})
      .then(() => {
        if (!this.#stopped) this.#cancel = this.#clock.after(this.#restMs, () => this.start())
      })
  }

  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  /** Processes that live for a short time never renew: each of them advances the lease clock when it begins. */
  async #round(): Promise<void> {
    if (!this.#advanced) await this.#store.sessions.advanceLeaseClock(this.#options.leaseMs)
    this.#advanced = true
    await this.sweep()
  }

  async sweep(): Promise<void> {
    const sessions = await this.#store.sessions.liveSessions()
    this.#restMs = this.#options.everyMs * seldom(sessions)
    await this.#advanceFor(sessions)
    for (const session of sessions) {
      const cause = this.#causeOfDeath(session)
      if (cause === null) continue
      // A renewal that came in between proves it alive; a dead process renews nothing.
      const condition = cause === 'lease' ? { renewals: session.renewals } : undefined
      const end = await this.#store.sessions.endSession(session.id, cause, condition)
      if (end !== null) await this.#options.onEnded?.(session, cause, end)
    }
  }

  /** Callers over HTTP renew seldom, and perhaps nothing else renews: their leases end all the same. */
  async #advanceFor(sessions: readonly LiveSession[]): Promise<void> {
    const { everyMs, leaseMs } = this.#options
    const isDue = sessions.some(({ caller, unrenewed }) => caller !== null && unrenewed.sinceMs >= everyMs)
    if (isDue) await this.#store.sessions.advanceLeaseClock(leaseMs)
  }

  /** Its supervisor saw it end, knows why, and is about to say so. Should he not, the lease will be over. */
  #isLookedAfter({ supervisor }: LiveSession): boolean {
    return supervisor !== null && !this.#isDead(supervisor)
  }

  #isDead(process: ProcessIdentity): boolean {
    return this.#options.isDead?.(process) ?? isProvedDead(process, this.#store)
  }

  #causeOfDeath(session: LiveSession): EndCause | null {
    if (this.#isDead(session.process) && !this.#isLookedAfter(session)) return 'crash'
    return hasExpired(session.unrenewed, session.leaseMs ?? this.#options.leaseMs) ? 'lease' : null
  }
}

/** All processes of a machine see the same ends, and each look asks for every process. At different times, so that one looks every now and then. */
function seldom(sessions: readonly LiveSession[]): number {
  const near = sessions.filter(({ process, caller }) => caller === null && isInSight(process))
  const share = new Set(near.map(({ process }) => process.pid)).size / OFTEN
  return share <= 1 ? 1 : Math.min(share, SELDOM_MAX) * (0.75 + Math.random() / 2)
}
