import type { Outcome } from '../../src/model/outcome.ts'
import type { EndCause } from '../../src/model/session.ts'
import type { FailureKind } from '../../src/model/task.ts'
import { identifySelf, type ProcessIdentity } from '../../src/process-identity.ts'
import type {
  Claim,
  ClaimAbilities,
  ClaimProof,
  Effects,
  Exchange,
  Exchanged,
} from '../../src/store/ports/exchange.ts'
import type { NewSession, SessionEnd } from '../../src/store/ports/sessions.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { MovableClock } from './database.ts'

export interface ClaimantOptions extends Partial<ClaimAbilities> {
  worker?: string
  /** Otherwise each life is a process of its own. */
  process?: ProcessIdentity
  /** It pulls by hand, with a lease of its own. */
  pulls?: NewSession['pulls']
}

let processes = 0

function anotherProcess(): ProcessIdentity {
  processes += 1
  return { ...identifySelf(), startTime: `process ${processes}` }
}

/** A worker reduced to its conversation with the store: a session, and what it holds. */
export class Claimant {
  readonly store: Store
  readonly clock: MovableClock
  readonly able: ClaimAbilities
  readonly worker: string
  session = ''
  process = identifySelf()
  readonly #options: ClaimantOptions
  /** The fence of each task it holds. */
  readonly #held = new Map<string, number>()

  constructor(store: Store, clock: MovableClock, options: ClaimantOptions = {}) {
    this.#options = options
    this.store = store
    this.clock = clock
    this.worker = options.worker ?? 'worker:test:0'
    this.able = {
      queues: options.queues ?? ['default'],
      names: options.names ?? ['job'],
      capabilities: options.capabilities ?? {},
      orders: options.orders,
    }
  }

  /** A new life, after the last one ended. */
  async begin(): Promise<this> {
    const { queues, names, capabilities } = this.able
    this.process = this.#options.process ?? anotherProcess()
    const { worker, process } = this
    const { pulls } = this.#options
    const session = { worker, process, queues, names, capabilities, pulls }
    this.session = await this.store.sessions.openSession(session)
    this.#held.clear()
    return this
  }

  async exchange(parts: Partial<Omit<Exchange, 'session'>>): Promise<Exchanged> {
    const answer = await this.store.tasks.exchange({
      session: this.session,
      starts: [],
      outcomes: [],
      progress: [],
      logs: [],
      want: null,
      ...parts,
    })
    for (const { id, fence } of parts.outcomes ?? []) if (this.#held.get(id) === fence) this.#held.delete(id)
    for (const { id, fence } of answer.claims) this.#held.set(id, fence)
    return answer
  }

  /** `start` at once, and `ahead` more to hold. */
  async claim(start = 1, ahead = 0): Promise<Claim[]> {
    return (await this.take(start, ahead)).claims
  }

  take(start = 1, ahead = 0): Promise<Exchanged> {
    return this.exchange({ want: { able: this.able, start, ahead, empty: this.#held.size === 0 } })
  }

  async claimOne(): Promise<Claim> {
    const [claim] = await this.claim()
    if (claim === undefined) throw new Error('there was nothing to claim')
    return claim
  }

  start({ id, fence }: ClaimProof): Promise<Exchanged> {
    return this.exchange({ starts: [{ id, fence, startedAt: this.clock.now() }] })
  }

  settle({ id, fence }: ClaimProof, outcome: Outcome): Promise<Exchanged> {
    return this.exchange({ outcomes: [{ id, fence, startedAt: this.clock.now(), outcome }] })
  }

  complete(claim: ClaimProof, result: string | null = null): Promise<Exchanged> {
    return this.settle(claim, { kind: 'completed', result })
  }

  /** In one exchange, all begun at this moment. */
  completeAll(
    claims: readonly ClaimProof[],
    resultOf: (place: number) => string | null = () => null,
  ): Promise<Exchanged> {
    const startedAt = this.clock.now()
    const outcomes = claims.map(({ id, fence }, place) => {
      const outcome: Outcome = { kind: 'completed', result: resultOf(place) }
      return { id, fence, startedAt, outcome }
    })
    return this.exchange({ outcomes })
  }

  async completeWith(
    { id, fence }: ClaimProof,
    effects: Effects,
    result: string | null = null,
  ): Promise<boolean> {
    const run = { id, fence, startedAt: this.clock.now() }
    const done = await this.store.tasks.completeWith(this.session, run, result, effects)
    if (done) this.#held.delete(id)
    return done
  }

  /** For good, unless there is a time to try again. */
  fail(claim: ClaimProof, retryAfterMs: number | null = null, kind: FailureKind = 'error') {
    return this.settle(claim, { kind: 'failed', failure: { kind, message: 'no', stack: null }, retryAfterMs })
  }

  giveBack(claim: ClaimProof): Promise<Exchanged> {
    return this.settle(claim, { kind: 'returned' })
  }

  log(claim: ClaimProof, ...messages: string[]): Promise<Exchanged> {
    const at = this.clock.now()
    const lines = messages.map(
      (message) => ({ at, attempt: 1, level: 'info', message, details: null }) as const,
    )
    return this.exchange({ logs: [{ id: claim.id, fence: claim.fence, lines }] })
  }

  async end(cause: EndCause): Promise<SessionEnd> {
    const end = await this.store.sessions.endSession(this.session, cause)
    if (end === null) throw new Error(`the session of ${this.worker} had ended before`)
    return end
  }
}
