import { closedError } from '../../errors.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { BatchClaim } from './batch-claim.ts'
import { BatchInHand } from './batch-in-hand.ts'
import type { ManualClaimRequest } from './manual-claim-request.ts'
import type { PulledClaim, PulledClaims } from './pulled-claim.ts'
import { Puller, type Seat } from './puller.ts'
import type { ClaimServices } from './services.ts'
import { PullSessions } from './sessions.ts'

/** What this process claims by hand. */
export class LibraryClaims {
  readonly #services: ClaimServices
  readonly #sessions: PullSessions
  readonly #puller: Puller
  readonly #batches = new Set<BatchInHand>()
  readonly #closing = new AbortController()
  readonly #pulls = new Set<Promise<unknown>>()

  constructor(services: ClaimServices) {
    this.#services = services
    this.#sessions = new PullSessions(services)
    this.#puller = new Puller(services, this.#sessions, this.#seat())
  }

  claim(wish: ManualClaimRequest): Promise<PulledClaims> {
    const pull = this.#claim(wish)
    this.#pulls.add(pull)
    const over = () => this.#pulls.delete(pull)
    pull.then(over, over)
    return pull
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#pulls)
    await Promise.all([...this.#batches].map((batch) => batch.close()))
    await this.#sessions.close()
    this.#services.isolation.leave(this.#sessions)
  }

  async #claim(wish: ManualClaimRequest): Promise<PulledClaims> {
    const untilMs = this.#services.clock.monotonicMs() + wish.waitMs
    const { signal } = this.#closing
    for (;;) {
      if (signal.aborted) throw closedError()
      const pulled = await this.#puller.pull(wish, untilMs, signal)
      if (pulled === null) return disposable([])
      const over = (one: BatchInHand) => this.#batches.delete(one)
      const batch = new BatchInHand(this.#services, this.#sessions, pulled.session, over)
      this.#batches.add(batch)
      const attempts = await batch.begin(pulled)
      if (attempts.length > 0) return claimsOf(attempts, batch)
    }
  }

  /** A suspect that is claimed by hand is alone in the process, too. */
  #seat(): Seat {
    const { isolation } = this.#services
    const nudges = new Set<() => void>()
    isolation.join(this.#sessions, () => {
      for (const nudge of nudges) nudge()
    })
    let turn: Promise<unknown> = Promise.resolve()
    return {
      mayClaim: () => isolation.mayClaim(this.#sessions),
      get isEmpty() {
        return isolation.isEmpty
      },
      inTurn(claim) {
        const mine = turn.then(() => isolation.inTurn(claim))
        turn = mine.catch(() => {})
        return mine
      },
      onNudge(nudge) {
        nudges.add(nudge)
        return () => nudges.delete(nudge)
      },
    }
  }
}

function claimsOf(attempts: readonly Attempt[], batch: BatchInHand): PulledClaims {
  return disposable(attempts.map((attempt) => new BatchClaim(attempt, batch)))
}

function disposable(claims: PulledClaim[]): PulledClaims {
  const dispose = async () => {
    await Promise.all(claims.map((claim) => claim[Symbol.asyncDispose]()))
  }
  return Object.defineProperty(claims, Symbol.asyncDispose, { value: dispose }) as PulledClaims
}
