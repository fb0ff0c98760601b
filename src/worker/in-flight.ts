import type { Clock } from '../clock.ts'
import type { Uses } from '../define/resource.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import { ClaimLostError, TaskCancelled, TimeoutError } from '../errors.ts'
import type { Attempt } from './attempt.ts'
import { Deadline } from './deadline.ts'
import { logEvent, type TaskEvent } from './events.ts'
import { Latch } from './latch.ts'
import { aheadIsOld } from './polling/polling.ts'
import { type Line, Prefetched } from './prefetch/prefetched.ts'
import { Yielding } from './prefetch/yielding.ts'
import type { Reporting } from './report/report.ts'
import type { RunServices } from './run-services.ts'
import { RunningAttempts } from './runs.ts'
import type { InFlightOptions } from './services.ts'
import type { AttemptOutcome, Item, Source } from './sources/source.ts'
import { currentItems } from './state/current.ts'
import type { HeldItem } from './state/snapshot.ts'

/** Of how many items left ahead nobody wants to hear. */
const NEVER = -1

/** What a worker has in its hands: the items it runs, those it holds ahead, and the news about them. */
export class InFlight implements RunServices {
  readonly reporting: Reporting
  readonly #options: InFlightOptions
  readonly #running: RunningAttempts
  readonly #ahead = new Prefetched()
  /** So few are left ahead that it is time for more. */
  #low = NEVER
  readonly #yielding: Yielding
  readonly #deadline: Deadline
  readonly #whenEmpty = new Latch()
  /** Nothing is started any more. */
  #isClosed = false

  constructor(options: InFlightOptions) {
    this.#options = options
    this.reporting = { ...options, eventOf: this.#eventOf }
    this.#running = new RunningAttempts(options.watch)
    this.#yielding = new Yielding(options.clock, () => this.#startNext())
    this.#deadline = new Deadline(options.clock, (nowMs) => this.#expireSome(nowMs))
  }

  get running(): number {
    return this.#running.size
  }

  get ahead(): number {
    return this.#ahead.size
  }

  get line(): Line {
    return this.#ahead
  }

  /** Runs that were started from what was held ahead, which the store does not know yet. */
  unknownStarts(source: Source): Attempt[] {
    return [...this.#running].filter((e) => !e.startIsKnown && !e.settled && e.source === source)
  }

  /** Everything that it knows to hold of this source. */
  ids(source: Source): string[] {
    const running = [...this.#running].filter((e) => !e.settled && e.source === source)
    return [...running.map((e) => e.claim.id), ...this.#ahead.ids(source)]
  }

  current(): HeldItem[] {
    return currentItems(this.#running, this.clock)
  }

  get runsSuspect(): boolean {
    return [...this.#running].some(({ claim }) => claim.suspect)
  }

  /** Starts what was claimed to be started, and keeps the rest ahead. With `low` of them left it is time for more. */
  take(claims: readonly Item[], source: Source, low = NEVER): void {
    const now = this.clock.monotonicMs()
    this.#low = low
    this.#yielding.begin()
    for (const claim of claims) if (claim.started) this.#start(claim, source)
    const rest = claims.filter((claim) => !claim.started)
    this.#ahead.add(rest, source, now)
    // Claimed while hands were free: nobody who ends will start these.
    const free = Math.min(
      this.#ahead.size,
      this.#options.concurrency - this.#running.size - this.#yielding.vacant,
    )
    // Where the store works elsewhere it is asked for more before that: it works while these do.
    if (free > 0 && this.#options.store.remote) this.#yielding.startLater(free)
    else for (let n = 0; n < free; n++) this.#startNext()
    if (this.#isClosed) this.handBackAhead()
  }

  #start(claim: Item, source: Source): void {
    // A run that never waits may be what made the worker give up, in the middle of what it was given.
    if (this.#isClosed) return this.handBack([claim], source)
    const { emitter, hooks } = this.#options
    const attempt = source.begin(claim, this)
    this.#running.add(attempt)
    this.#deadline.arm(attempt.deadlineMs)
    if (emitter.hears('started')) emitter.emit('started', () => this.#eventOf(attempt))
    void attempt.run(hooks, this.#finish)
  }

  readonly #finish = (attempt: Attempt, outcome: AttemptOutcome): void => {
    const now = this.clock.monotonicMs()
    const { pace, state } = this.#options
    this.#running.delete(attempt)
    pace.ran(now - attempt.startedMs, now)
    if (attempt.uses !== null) state.resources.release(attempt, attempt.trouble !== undefined)
    if (!attempt.settled) {
      this.#settle(attempt, outcome, now)
      state.stats.ran(attempt, outcome, now - attempt.startedMs)
      if (attempt.trouble !== undefined) state.broke(attempt.trouble)
      if (attempt.outage !== undefined) state.storeFailed(attempt)
    }
    this.#options.onEnd(attempt.claim.suspect, now - attempt.startedMs)
    // Behind a handler that did not wait: whoever has paused it relies on it that nothing old is begun.
    this.handBackOld(now)
    if (this.#options.store.remote && this.#ahead.size > 0 && this.#yielding.isOver(now))
      return this.#yielding.startLater()
    this.#startNext()
  }

  #startNext(): void {
    const { source } = this.#ahead
    if (source !== undefined) {
      const next = this.#ahead.next()!
      if (this.#ahead.size === this.#low) this.#options.onFree()
      return this.#start(next, source)
    }
    if (this.#running.size === 0) this.waitNoLonger()
    this.#options.onFree()
  }

  #settle(attempt: Attempt, outcome: AttemptOutcome, nowMs: number): void {
    attempt.settled = true
    attempt.endedMs = nowMs
    attempt.source.outbox.finished(attempt, outcome, nowMs)
  }

  readonly #eventOf = ({ claim, name, queue }: Attempt): TaskEvent => {
    const { id, attempt, maxAttempts } = claim
    return { id, name, queue, attempt, maxAttempts, worker: this.#options.id }
  }

  get clock(): Clock {
    return this.#options.clock
  }
  get random(): () => number {
    return this.#options.random
  }
  get enqueue(): Enqueue {
    return this.#options.enqueue
  }
  enqueueWithin(tx: Tx): Enqueue {
    return this.#options.enqueueWithin(tx)
  }

  get payloadLimit(): number {
    return this.#options.payloadLimit
  }

  async acquire(attempt: Attempt, uses: Uses): Promise<void> {
    // Loading has a time-out of its own.
    this.#running.time(attempt, Number.POSITIVE_INFINITY)
    await this.#options.state.resources.acquire(attempt, uses)
    this.#running.time(attempt, attempt.deadlineMs)
    this.#deadline.arm(attempt.deadlineMs)
  }

  note(attempt: Attempt, line: Parameters<RunServices['note']>[1]): void {
    if (attempt.settled) return
    attempt.source.outbox.logged(attempt, line, this.clock.monotonicMs())
    this.#options.emitter.emit('log', () => logEvent(this.#eventOf(attempt), line))
  }

  progress(attempt: Attempt, fraction: number, message: string | null): void {
    if (attempt.settled) return
    attempt.source.outbox.progress(attempt, fraction, message, this.clock.monotonicMs())
    this.#options.emitter.emit('progress', () => ({ ...this.#eventOf(attempt), fraction, message }))
  }

  async completeWith(
    attempt: Attempt,
    outcome: AttemptOutcome,
    effects: Parameters<RunServices['completeWith']>[2],
  ) {
    const session = this.#options.session()
    if (session === null) return new ClaimLostError(`${attempt.name}: the session was lost`)
    const { reporting } = this
    attempt.isCompleting = true
    const completing = attempt.source.completeWith({ session, attempt, outcome, effects, reporting })
    const refusal = await completing.finally(() => (attempt.isCompleting = false))
    attempt.settled = true
    const { stats } = this.#options.state
    if (refusal === null) stats.ran(attempt, outcome, this.clock.monotonicMs() - attempt.startedMs)
    else stats.counters.fenced_writes += 1
    return refusal
  }

  /** Somebody asked for it: what runs is told, what was held ahead goes back (and is cancelled there). */
  cancel(id: string): void {
    const attempt = this.#find(id)
    if (attempt !== undefined && attempt.context.abortReason === undefined)
      this.#abort(attempt, new TaskCancelled(id))
    const ahead = this.#ahead.remove(id)
    if (ahead !== undefined) ahead.source.outbox.returned(ahead.item, this.clock.monotonicMs())
  }

  /** The claim is in other hands. What is being completed hears so from its own transaction, or has just been completed. */
  lose(id: string): void {
    const attempt = this.#find(id)
    if (attempt !== undefined && !attempt.isCompleting) this.#lose(attempt)
    this.#ahead.remove(id)
  }

  loseEverything(): void {
    this.#ahead.take()
    for (const attempt of this.#running) if (!attempt.settled) this.#lose(attempt)
  }

  /** While it is shut nothing is started; what runs goes on. */
  set isOpen(isOpen: boolean) {
    this.#isClosed = !isOpen
    if (!isOpen) this.handBackAhead()
  }

  handBackOld(nowMs: number): void {
    if (!aheadIsOld(this, nowMs)) return
    this.#options.pace.gaveBack()
    this.handBackAhead()
  }

  handBackAhead(): void {
    for (const { claims, source } of this.#ahead.take()) this.handBack(claims, source)
  }

  /** Never started here. */
  handBack(claims: readonly Item[], source: Source): void {
    for (const claim of claims) source.outbox.returned(claim, this.clock.monotonicMs())
  }

  abortAll(reason: Error): void {
    for (const attempt of this.#running) if (!attempt.settled) this.#abort(attempt, reason)
  }

  /** Nothing that still runs is waited for any more, nor heard. */
  abandonAll(): void {
    for (const attempt of this.#running) {
      attempt.settled = true
      attempt.trace?.ended({ kind: 'returned' })
    }
    this.#deadline.cancel()
  }

  emptyWithin(ms: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve()
    return this.#whenEmpty.within(ms, this.clock)
  }

  /** Whoever waits for the end of what runs goes on without it. */
  waitNoLonger(): void {
    this.#whenEmpty.happened()
  }

  #find(id: string): Attempt | undefined {
    for (const attempt of this.#running) if (attempt.claim.id === id && !attempt.settled) return attempt
    return undefined
  }

  #lose(attempt: Attempt): void {
    const { name, claim } = attempt
    attempt.settled = true
    attempt.context.abort(new ClaimLostError(`the claim on ${name} ${claim.id} was lost`))
    attempt.trace?.ended({ kind: 'claim-lost' })
    this.#options.emitter.emit('claim-lost', () => this.#eventOf(attempt))
  }

  #abort(attempt: Attempt, reason: Error): void {
    attempt.deadlineMs = this.clock.monotonicMs() + this.#options.graceMs
    attempt.context.abort(reason)
    this.#deadline.arm(attempt.deadlineMs)
  }

  #expireSome(nowMs: number): void {
    for (const attempt of this.#running) {
      if (attempt.deadlineMs <= nowMs) this.#expire(attempt)
      if (!attempt.settled) this.#deadline.arm(attempt.deadlineMs)
    }
  }

  #expire(attempt: Attempt): void {
    const { abortReason } = attempt.context
    if (abortReason === undefined) return this.#abort(attempt, new TimeoutError(attempt.timeoutMs))
    if (attempt.settled) return
    // It did not heed the signal: the item is settled without it. Its slot stays taken until it returns.
    this.#settle(attempt, attempt.outcomeOf(abortReason), this.clock.monotonicMs())
    this.#options.onFree()
  }
}
