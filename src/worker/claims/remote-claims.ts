import type { DiscoveryRegistry } from '../../discovery/registry.ts'
import { ClaimLostError, PermanentError, ResourceError, TimeoutError } from '../../errors.ts'
import type { LogLevel } from '../../model/task.ts'
import type { TaskRegistry } from '../../queue/registry.ts'
import type { ClaimProof } from '../../store/ports/exchange.ts'
import type { HeldClaim } from '../../store/ports/sessions.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { outcomeOfError } from '../attempt/outcome-of-error.ts'
import type { AttemptOutcome } from '../attempt/source.ts'
import { type FailOptions, failedBy } from './failed.ts'
import type { ManualClaimRequest } from './manual-claim-request.ts'
import { type Batch, Puller, SEAT_ELSEWHERE } from './puller.ts'
import { RemoteAttempts } from './remote-attempts.ts'
import type { ClaimServices } from './services.ts'
import { PullSessions } from './sessions.ts'
import { exchangeNews, lostClaim, settle } from './settling.ts'

/** Who calls, and whether the caller may touch an item. `check` throws if not. */
export interface RemoteCaller {
  caller: string
  check(item: Pick<HeldClaim, 'name' | 'queue'>): void
}

/** An item for a caller over HTTP. */
export interface RemoteItem extends ClaimProof {
  name: string
  queue: string | null
  input: unknown
  attempt: number
  leaseMs: number
  timeoutMs: number
}

/** What a caller hears whenever it says that it is alive. */
export interface RemoteLease {
  leaseMs: number
  cancelled: boolean
}

/** Why a caller over HTTP could not do it. */
export interface RemoteFailure {
  message: string
  kind: 'error' | 'permanent' | 'resource'
}

/**
 * Claims of callers over HTTP. Nothing of a claim is in the memory of this process that is not in the database: any server of the
 * same database goes on with it.
 */
export class RemoteClaims {
  readonly #services: ClaimServices
  readonly #sessions: PullSessions
  readonly #puller: Puller
  readonly #attempts: RemoteAttempts
  readonly #closing = new AbortController()
  readonly #pulls = new Set<Promise<unknown>>()
  /** Each session hands in one thing after the other. */
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(services: ClaimServices, known: { registry: TaskRegistry; discoveries: DiscoveryRegistry }) {
    this.#services = services
    this.#sessions = new PullSessions(services)
    this.#puller = new Puller(services, this.#sessions, SEAT_ELSEWHERE)
    this.#attempts = new RemoteAttempts(services, known)
  }

  /** `gone`: the caller does not wait any more. */
  pull(wish: ManualClaimRequest, gone: AbortSignal): Promise<RemoteItem[]> {
    const pull = this.#pull(wish, AbortSignal.any([gone, this.#closing.signal]))
    this.#pulls.add(pull)
    const over = () => this.#pulls.delete(pull)
    pull.then(over, over)
    return pull
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled([...this.#pulls, ...this.#turns.values()])
    await this.#sessions.close()
  }

  async complete(proof: ClaimProof, by: RemoteCaller, result: unknown): Promise<void> {
    await this.#settled(proof, by, async (attempt, held) => {
      const outcome = await this.#completed(attempt, held, result)
      attempt.outcome = outcome
      const completing = { session: held.session, attempt, effects: () => {}, reporting: this.#services }
      const refusal = await attempt.source.completeWith(completing)
      if (refusal !== null) throw refusal
    })
  }

  #completed(attempt: Attempt, held: HeldClaim, result: unknown): Promise<AttemptOutcome> {
    return held.queue === null
      ? this.#rowDone(attempt, held, result)
      : this.#attempts.completed(attempt, result)
  }

  async #rowDone(attempt: Attempt, held: HeldClaim, result: unknown): Promise<AttemptOutcome> {
    const outcome = await this.#attempts.rowDone(attempt, result)
    if (outcome !== null) return outcome
    await this.#settle(attempt, held, { kind: 'returned' })
    throw new ClaimLostError(`${held.id}: the row is gone, or was edited meanwhile: nothing was written`)
  }

  async fail(
    proof: ClaimProof,
    by: RemoteCaller,
    failure: RemoteFailure,
    options: FailOptions = {},
  ): Promise<void> {
    await this.#settled(proof, by, (attempt, held) =>
      this.#settle(attempt, held, failedBy(attempt, errorOf(failure), options)),
    )
  }

  async release(proof: ClaimProof, by: RemoteCaller): Promise<void> {
    await this.#settled(proof, by, (attempt, held) => this.#settle(attempt, held, { kind: 'returned' }))
  }

  progress(
    proof: ClaimProof,
    by: RemoteCaller,
    { fraction, message }: { fraction: number; message?: string },
  ): Promise<RemoteLease> {
    return this.#said(proof, by, ({ context }) => void context.progress(fraction, message))
  }

  log(
    proof: ClaimProof,
    by: RemoteCaller,
    { level, message, details }: { level: LogLevel; message: string; details?: object },
  ): Promise<RemoteLease> {
    return this.#said(proof, by, ({ context }) => context.log[level](message, details))
  }

  renew(proof: ClaimProof, by: RemoteCaller): Promise<RemoteLease> {
    return this.#said(proof, by, () => {})
  }

  async #pull(wish: ManualClaimRequest, signal: AbortSignal): Promise<RemoteItem[]> {
    const untilMs = this.#services.clock.monotonicMs() + wish.waitMs
    for (;;) {
      const batch = await this.#puller.pull(wish, untilMs, signal)
      if (batch === null) return []
      const items = await this.#handOut(batch, wish, signal)
      if (items.length > 0) return items
    }
  }

  /** Input that does not fit its schema fails here. If the caller is gone, its items go back at once. */
  async #handOut(
    { claims, source, session }: Batch,
    wish: ManualClaimRequest,
    signal: AbortSignal,
  ): Promise<RemoteItem[]> {
    const items: RemoteItem[] = []
    for (const claim of claims) {
      const attempt = this.#attempts.begin(source, claim, wish.worker)
      const outcome = signal.aborted ? ({ kind: 'returned' } as const) : await refusedInput(attempt)
      if (outcome === null) {
        this.#services.emitter.emit('started', () => attempt.event)
        items.push(itemOf(attempt, wish.leaseMs))
      } else {
        await settle(session.id, attempt, outcome, this.#services)
        session.held.delete(claim.id)
      }
    }
    if (items.length === 0) this.#sessions.rest(session)
    return items
  }

  /** The caller is alive: its lease begins anew. */
  async #said(proof: ClaimProof, by: RemoteCaller, say: (attempt: Attempt) => void): Promise<RemoteLease> {
    const { held, attempt } = await this.#held(proof, by)
    await this.#inTurn(held.session, async () => {
      say(attempt)
      if (!attempt.source.outbox.isEmpty) await exchangeNews(held.session, [attempt])
    })
    if (!(await this.#sessions.renew(held.session))) throw lostClaim(proof.id)
    const isLate = runningMs(held, this.#services) > attempt.timeoutMs
    return { leaseMs: held.leaseMs!, cancelled: held.cancelRequested || isLate }
  }

  async #settled(
    proof: ClaimProof,
    by: RemoteCaller,
    work: (attempt: Attempt, held: HeldClaim) => Promise<void>,
  ): Promise<void> {
    const { held, attempt } = await this.#held(proof, by)
    try {
      await this.#inTurn(held.session, () => work(attempt, held))
    } catch (error) {
      if (error instanceof ClaimLostError) await this.#after(held)
      throw error
    }
    await this.#after(held)
  }

  /** The rest of its batch lives on. */
  async #after({ session: id, ...item }: HeldClaim): Promise<void> {
    const session = this.#sessions.get(id)
    session?.held.delete(item.id)
    if (session !== undefined && session.held.size === 0) this.#sessions.rest(session)
    else await this.#sessions.renew(id)
  }

  async #held(proof: ClaimProof, by: RemoteCaller): Promise<{ held: HeldClaim; attempt: Attempt }> {
    const held = await this.#services.store.sessions.heldClaim(proof)
    if (held === null || held.caller !== by.caller) throw lostClaim(proof.id)
    by.check(held)
    const attempt = await this.#attempts.of(held)
    const { timeoutMs } = attempt
    if (runningMs(held, this.#services) <= timeoutMs + this.#services.timings.graceMs)
      return { held, attempt }
    const outcome = outcomeOfError(attempt, attempt.context.abort(new TimeoutError(timeoutMs)))
    await this.#inTurn(held.session, () => this.#settle(attempt, held, outcome))
    await this.#after(held)
    throw lostClaim(proof.id)
  }

  #settle(attempt: Attempt, { session }: HeldClaim, outcome: AttemptOutcome): Promise<void> {
    return settle(session, attempt, outcome, this.#services)
  }

  #inTurn<T>(session: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(session) ?? Promise.resolve()).then(work)
    const settled = turn.then(
      () => {},
      () => {},
    )
    this.#turns.set(session, settled)
    void settled.then(() => {
      if (this.#turns.get(session) === settled) this.#turns.delete(session)
    })
    return turn
  }
}

/** Null: the caller can have it. */
async function refusedInput(attempt: Attempt): Promise<AttemptOutcome | null> {
  try {
    attempt.given = await attempt.input()
    return null
  } catch (error) {
    return outcomeOfError(attempt, error)
  }
}

function itemOf({ claim, name, queue, timeoutMs, given }: Attempt, leaseMs: number): RemoteItem {
  const { id, fence, attempt } = claim
  return { id, fence, name, queue, input: given ?? null, attempt, leaseMs, timeoutMs }
}

function runningMs({ startedAt }: HeldClaim, { clock }: ClaimServices): number {
  return startedAt === null ? 0 : clock.now() - startedAt
}

function errorOf({ message, kind }: RemoteFailure): unknown {
  if (kind === 'resource') return new ResourceError(message)
  // The stack would be that of the server.
  if (kind === 'permanent') return Object.assign(new PermanentError(message), { stack: undefined })
  return message
}
