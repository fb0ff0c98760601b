import type { Uses } from '../../define/resource.ts'
import type { Enqueue, Tx } from '../../define/types.ts'
import type { Duration } from '../../duration.ts'
import { ClaimLostError, TaskCancelled, TimeoutError } from '../../errors.ts'
import type { Effects, NewLogLine } from '../../store/ports/exchange.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { logEvent } from '../attempt/events.ts'
import { outcomeOfError } from '../attempt/outcome-of-error.ts'
import type { AttemptServices } from '../attempt/services.ts'
import type { AttemptOutcome } from '../attempt/source.ts'
import { failedBy } from './failed.ts'
import type { Batch } from './puller.ts'
import type { ClaimServices } from './services.ts'
import type { PullSession, PullSessions } from './sessions.ts'
import { exchangeNews, settle } from './settling.ts'

/** What was said waits this long for more. */
const NEWS_MS = 20

/** What this process holds after one claim by hand: attempts without a handler. */
export class BatchInHand implements AttemptServices {
  readonly #services: ClaimServices
  readonly #sessions: PullSessions
  readonly #session: PullSession
  readonly #attempts = new Map<Attempt, { cancelTimer: () => void }>()
  /** The session hands in one thing after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  /** It looks at this time. */
  #lookAtMs = Number.POSITIVE_INFINITY
  #cancelLook: (() => void) | undefined
  readonly #startedMs: number
  /** It has no handler. */
  readonly steps = null
  readonly #unsubscribe: () => void
  readonly #onEmpty: (batch: BatchInHand) => void

  constructor(
    services: ClaimServices,
    sessions: PullSessions,
    session: PullSession,
    onEmpty: (batch: BatchInHand) => void,
  ) {
    this.#services = services
    this.#sessions = sessions
    this.#session = session
    this.#onEmpty = onEmpty
    this.#startedMs = services.clock.monotonicMs()
    this.#unsubscribe = services.store.onChange(({ kind, ...change }) => {
      const only = 'only' in change ? change.only : undefined
      if (kind === 'cancel' || (kind === 'elsewhere' && (only ?? 'cancel') === 'cancel')) this.#lookWithin(0)
    }, 'signals')
    session.onLost = () => this.#loseAll()
  }

  /** Input that does not fit its schema is a failure, as it is for a handler. */
  async begin({ claims, source }: Batch): Promise<Attempt[]> {
    const attempts = claims.map((claim) => source.begin(claim, this))
    for (const attempt of attempts) this.#attempts.set(attempt, { cancelTimer: () => {} })
    this.#lookWithin(this.#services.timings.pollMs)
    const ready: Attempt[] = []
    for (const attempt of attempts) if (await this.#isReady(attempt)) ready.push(attempt)
    for (const attempt of ready) {
      this.#after(attempt, attempt.timeoutMs, () => this.#abort(attempt, new TimeoutError(attempt.timeoutMs)))
      this.#services.emitter.emit('started', () => attempt.event)
    }
    return ready
  }

  async #isReady(attempt: Attempt): Promise<boolean> {
    try {
      attempt.given = await attempt.input()
      return true
    } catch (error) {
      await this.#settle(attempt, outcomeOfError(attempt, error))
      return false
    }
  }

  async complete(attempt: Attempt, result: unknown): Promise<void> {
    if (attempt.settled) throw settledAlready(attempt)
    const refusal = await this.completeWith(attempt, attempt.completed(result), () => {})
    if (refusal !== null) throw attempt.context.abort(refusal)
  }

  async fail(attempt: Attempt, error: unknown, retry?: boolean | Duration): Promise<void> {
    await this.#settle(attempt, failedBy(attempt, error, { retry }))
  }

  async release(attempt: Attempt): Promise<void> {
    await this.#settle(attempt, { kind: 'returned' })
  }

  /** Gives back all of it. */
  async close(): Promise<void> {
    const left = [...this.#attempts.keys()]
    for (const attempt of left) {
      attempt.settled = true
      attempt.context.abort(new ClaimLostError(`Gleaner was closed, and ${attempt.item} went back`))
      this.#forget(attempt)
    }
    await this.#turn
    await this.#sessions.end(this.#session)
  }

  get clock() {
    return this.#services.clock
  }
  get random() {
    return this.#services.random
  }
  get payloadLimit(): number {
    return this.#services.payloadLimit
  }
  get enqueue(): Enqueue {
    return this.#services.enqueue
  }
  get enqueueWithin(): (tx: Tx) => Enqueue {
    return this.#services.enqueueWithin
  }
  get worker(): string {
    return this.#session.wish.worker
  }

  /** A caller has what its items need. */
  async acquire(_attempt: Attempt, _uses: Uses): Promise<void> {}

  note(attempt: Attempt, line: NewLogLine): void {
    if (attempt.settled) return
    attempt.source.outbox.logged(attempt, line, this.clock.monotonicMs())
    this.#services.emitter.emit('log', () => logEvent(attempt.event, line))
    this.#lookWithin(NEWS_MS)
  }

  progress(attempt: Attempt, fraction: number, message: string | null): void {
    if (attempt.settled) return
    attempt.source.outbox.progress(attempt, { fraction, message }, this.clock.monotonicMs())
    this.#services.emitter.emit('progress', () => ({ ...attempt.event, fraction, message }))
    this.#lookWithin(NEWS_MS)
  }

  completeWith(attempt: Attempt, outcome: AttemptOutcome, effects: Effects): Promise<Error | null> {
    return this.#inTurn(async () => {
      if (attempt.settled) throw settledAlready(attempt)
      // After the completion no line is accepted.
      if (!attempt.source.outbox.isEmpty) await exchangeNews(this.#session.id, [attempt])
      const { id: session } = this.#session
      attempt.isCompleting = true
      attempt.outcome = outcome
      const completing = attempt.source.completeWith({ session, attempt, effects, reporting: this.#services })
      const refusal = await completing.finally(() => (attempt.isCompleting = false))
      attempt.settled = true
      this.#forget(attempt)
      return refusal
    })
  }

  #settle(attempt: Attempt, outcome: AttemptOutcome): Promise<void> {
    return this.#inTurn(async () => {
      if (attempt.settled) throw settledAlready(attempt)
      try {
        await settle(this.#session.id, attempt, outcome, this.#services)
      } finally {
        if (attempt.settled) this.#forget(attempt)
      }
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** At the end of the grace the item is settled without its caller. */
  #abort(attempt: Attempt, reason: Error): void {
    if (attempt.settled || attempt.context.abortReason !== undefined) return
    attempt.context.abort(reason)
    this.#after(attempt, this.#services.timings.graceMs, () => {
      this.#settle(attempt, outcomeOfError(attempt, reason)).catch(() => {})
    })
  }

  #after(attempt: Attempt, ms: number, act: () => void): void {
    const held = this.#attempts.get(attempt)
    if (held === undefined) return
    held.cancelTimer()
    held.cancelTimer = this.clock.afterIfAlive(ms, act)
  }

  /** Hands in what was said, and hears of cancels. */
  #lookWithin(ms: number): void {
    const atMs = this.clock.monotonicMs() + ms
    if (this.#attempts.size === 0 || atMs >= this.#lookAtMs) return
    this.#cancelLook?.()
    this.#lookAtMs = atMs
    this.#cancelLook = this.clock.afterIfAlive(ms, () => {
      this.#lookAtMs = Number.POSITIVE_INFINITY
      const { keeper, timings } = this.#services
      this.#inTurn(() => this.#look())
        .then(
          () => keeper.exchanged(this.#session.id),
          (error) => keeper.exchanged(this.#session.id, error),
        )
        .finally(() => this.#lookWithin(timings.pollMs))
    })
  }

  async #look(): Promise<void> {
    const answer = await exchangeNews(this.#session.id, this.#attempts.keys())
    if (answer?.sessionEnded) return this.#sessions.lost(this.#session)
    for (const attempt of this.#attempts.keys())
      if (answer?.cancels.includes(attempt.id)) this.#abort(attempt, new TaskCancelled(attempt.id))
  }

  #loseAll(): void {
    for (const attempt of [...this.#attempts.keys()]) {
      // A completion under way hears it from its own transaction.
      if (attempt.isCompleting) continue
      attempt.settled = true
      attempt.context.abort(new ClaimLostError(`the claim on ${attempt.item} was lost`))
      this.#services.emitter.emit('claim-lost', () => attempt.event)
      this.#forget(attempt)
    }
  }

  #forget(attempt: Attempt): void {
    this.#attempts.get(attempt)?.cancelTimer()
    this.#attempts.delete(attempt)
    this.#session.held.delete(attempt.id)
    if (this.#attempts.size > 0) return
    this.#cancelLook?.()
    this.#unsubscribe()
    const { runsSuspect } = this.#session
    this.#sessions.rest(this.#session)
    this.#services.isolation.ended(runsSuspect, this.clock.monotonicMs() - this.#startedMs)
    this.#onEmpty(this)
  }
}

function settledAlready({ item, context }: Attempt): Error {
  const { abortReason } = context
  return abortReason instanceof ClaimLostError
    ? abortReason
    : new ClaimLostError(`the claim on ${item} was settled already`)
}
