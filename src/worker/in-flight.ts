import type { Clock } from '../clock.ts'
import type { Uses } from '../define/resource.ts'
import type { Enqueue, Tx } from '../define/types.ts'
import { ClaimLostError, TaskCancelled, TimeoutError } from '../errors.ts'
import type { Execution } from './attempt.ts'
import { Deadline } from './deadline.ts'
import { logEvent, type TaskEvent } from './events.ts'
import { Patience } from './latch.ts'
import { aheadIsOld } from './polling/polling.ts'
import { Ahead, type Line } from './prefetch/prefetched.ts'
import { Slices } from './prefetch/yielding.ts'
import type { Reporting } from './report/report.ts'
import type { Desk } from './run-services.ts'
import { Runs } from './runs.ts'
import type { HandsOptions } from './services.ts'
import type { Ending, Item, Source } from './sources/source.ts'
import { currentItems } from './state/current.ts'
import type { HeldItem } from './state/snapshot.ts'

/** Of how many items left ahead nobody wants to hear. */
const NEVER = -1

/** What a worker has in its hands: the items it runs, those it holds ahead, and the news about them. */
export class Hands implements Desk {
  readonly reporting: Reporting
  readonly #options: HandsOptions
  readonly #running: Runs
  readonly #ahead = new Ahead()
  /** So few are left ahead that it is time for more. */
  #low = NEVER
  readonly #slices: Slices
  readonly #deadline: Deadline
  readonly #whenEmpty = new Patience()
  /** Nothing is started any more. */
  #isClosed = false

  constructor(options: HandsOptions) {
    this.#options = options
    this.reporting = { ...options, eventOf: this.#eventOf }
    this.#running = new Runs(options.watch)
    this.#slices = new Slices(options.clock, () => this.#startNext())
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
  unknownStarts(source: Source): Execution[] {
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
    this.#slices.begin()
    for (const claim of claims) if (claim.started) this.#start(claim, source)
    const rest = claims.filter((claim) => !claim.started)
    this.#ahead.add(rest, source, now)
    // Claimed while hands were free: nobody who ends will start these.
    const free = Math.min(
      this.#ahead.size,
      this.#options.concurrency - this.#running.size - this.#slices.vacant,
    )
    // Where the store works elsewhere it is asked for more before that: it works while these do.
    if (free > 0 && this.#options.store.remote) this.#slices.startLater(free)
    else for (let n = 0; n < free; n++) this.#startNext()
    if (this.#isClosed) this.handBackAhead()
  }

  #start(claim: Item, source: Source): void {
    // A run that never waits may be what made the worker give up, in the middle of what it was given.
    if (this.#isClosed) return this.handBack([claim], source)
    const { emitter, hooks } = this.#options
    const execution = source.begin(claim, this)
    this.#running.add(execution)
    this.#deadline.arm(execution.deadlineMs)
    if (emitter.hears('started')) emitter.emit('started', () => this.#eventOf(execution))
    void execution.run(hooks, this.#finish)
  }

  readonly #finish = (execution: Execution, outcome: Ending): void => {
    const now = this.clock.monotonicMs()
    const { pace, vitals } = this.#options
    this.#running.delete(execution)
    pace.ran(now - execution.startedMs, now)
    if (execution.uses !== null) vitals.needs.release(execution, execution.trouble !== undefined)
    if (!execution.settled) {
      this.#settle(execution, outcome, now)
      vitals.book.ran(execution, outcome, now - execution.startedMs)
      if (execution.trouble !== undefined) vitals.broke(execution.trouble)
      if (execution.outage !== undefined) vitals.storeFailed(execution)
    }
    this.#options.onEnd(execution.claim.suspect, now - execution.startedMs)
    // Behind a handler that did not wait: whoever has paused it relies on it that nothing old is begun.
    this.handBackOld(now)
    if (this.#options.store.remote && this.#ahead.size > 0 && this.#slices.isOver(now))
      return this.#slices.startLater()
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

  #settle(execution: Execution, outcome: Ending, nowMs: number): void {
    execution.settled = true
    execution.endedMs = nowMs
    execution.source.news.finished(execution, outcome, nowMs)
  }

  readonly #eventOf = ({ claim, name, queue }: Execution): TaskEvent => {
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

  async equip(execution: Execution, uses: Uses): Promise<void> {
    // Loading has a time-out of its own.
    this.#running.time(execution, Number.POSITIVE_INFINITY)
    await this.#options.vitals.needs.equip(execution, uses)
    this.#running.time(execution, execution.deadlineMs)
    this.#deadline.arm(execution.deadlineMs)
  }

  note(execution: Execution, line: Parameters<Desk['note']>[1]): void {
    if (execution.settled) return
    execution.source.news.logged(execution, line, this.clock.monotonicMs())
    this.#options.emitter.emit('log', () => logEvent(this.#eventOf(execution), line))
  }

  progress(execution: Execution, fraction: number, message: string | null): void {
    if (execution.settled) return
    execution.source.news.progress(execution, fraction, message, this.clock.monotonicMs())
    this.#options.emitter.emit('progress', () => ({ ...this.#eventOf(execution), fraction, message }))
  }

  async completeWith(execution: Execution, outcome: Ending, effects: Parameters<Desk['completeWith']>[2]) {
    const session = this.#options.session()
    if (session === null) return new ClaimLostError(`${execution.name}: the session was lost`)
    const { reporting } = this
    execution.isCompleting = true
    const completing = execution.source.completeWith({ session, execution, outcome, effects, reporting })
    const refusal = await completing.finally(() => (execution.isCompleting = false))
    execution.settled = true
    const { book } = this.#options.vitals
    if (refusal === null) book.ran(execution, outcome, this.clock.monotonicMs() - execution.startedMs)
    else book.counters.fenced_writes += 1
    return refusal
  }

  /** Somebody asked for it: what runs is told, what was held ahead goes back (and is cancelled there). */
  cancel(id: string): void {
    const execution = this.#find(id)
    if (execution !== undefined && execution.context.abortReason === undefined)
      this.#abort(execution, new TaskCancelled(id))
    const ahead = this.#ahead.remove(id)
    if (ahead !== undefined) ahead.source.news.returned(ahead.item, this.clock.monotonicMs())
  }

  /** The claim is in other hands. What is being completed hears so from its own transaction, or has just been completed. */
  lose(id: string): void {
    const execution = this.#find(id)
    if (execution !== undefined && !execution.isCompleting) this.#lose(execution)
    this.#ahead.remove(id)
  }

  loseEverything(): void {
    this.#ahead.take()
    for (const execution of this.#running) if (!execution.settled) this.#lose(execution)
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
    for (const claim of claims) source.news.returned(claim, this.clock.monotonicMs())
  }

  abortAll(reason: Error): void {
    for (const execution of this.#running) if (!execution.settled) this.#abort(execution, reason)
  }

  /** Nothing that still runs is waited for any more, nor heard. */
  abandonAll(): void {
    for (const execution of this.#running) {
      execution.settled = true
      execution.trace?.ended({ kind: 'returned' })
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

  #find(id: string): Execution | undefined {
    for (const execution of this.#running)
      if (execution.claim.id === id && !execution.settled) return execution
    return undefined
  }

  #lose(execution: Execution): void {
    const { name, claim } = execution
    execution.settled = true
    execution.context.abort(new ClaimLostError(`the claim on ${name} ${claim.id} was lost`))
    execution.trace?.ended({ kind: 'claim-lost' })
    this.#options.emitter.emit('claim-lost', () => this.#eventOf(execution))
  }

  #abort(execution: Execution, reason: Error): void {
    execution.deadlineMs = this.clock.monotonicMs() + this.#options.graceMs
    execution.context.abort(reason)
    this.#deadline.arm(execution.deadlineMs)
  }

  #expireSome(nowMs: number): void {
    for (const execution of this.#running) {
      if (execution.deadlineMs <= nowMs) this.#expire(execution)
      if (!execution.settled) this.#deadline.arm(execution.deadlineMs)
    }
  }

  #expire(execution: Execution): void {
    const { abortReason } = execution.context
    if (abortReason === undefined) return this.#abort(execution, new TimeoutError(execution.timeoutMs))
    if (execution.settled) return
    // It did not heed the signal: the item is settled without it. Its slot stays taken until it returns.
    this.#settle(execution, execution.outcomeOf(abortReason), this.clock.monotonicMs())
    this.#options.onFree()
  }
}
