import type { Clock } from '../clock.ts'
import type { TaskDefinition } from '../define/task.ts'
import type { Enqueue } from '../define/types.ts'
import { type Duration, durationMs } from '../duration.ts'
import { ClaimLostError, StoppedError, TaskCancelled, TimeoutError } from '../errors.ts'
import type { Outcome } from '../model/outcome.ts'
import { identifySelf } from '../process-identity.ts'
import type { Able, Change, Claim, Exchanged, Store, Want } from '../store/contract.ts'
import type { Desk } from './desk.ts'
import type { Emitter } from './events.ts'
import { Execution } from './execution.ts'
import type { Hooks } from './hooks.ts'
import type { Keeper } from './keeper.ts'
import { type HandedIn, News } from './news.ts'
import { Pace } from './pace.ts'
import { reportOutcome } from './report.ts'

export interface WorkerTimings {
  /** Rest between two looks when nothing wakes us: from, to. */
  idleMinMs: number
  idleMaxMs: number
  /** Between an abort and giving up on the handler. */
  graceMs: number
}

export interface WorkerOptions {
  id: string
  able: Able
  definitions: ReadonlyMap<string, TaskDefinition>
  concurrency: number
  payloadLimit: number
  timings: WorkerTimings
}

export interface WorkerServices {
  store: Store
  clock: Clock
  keeper: Keeper
  emitter: Emitter
  hooks: Hooks
  enqueue: Enqueue
}

/** News waits this long for more, so that short items share a transaction. */
const NEWS_MS = 20
/** What is held ahead and still not started then goes back: somebody else may be idle. */
const AHEAD_HELD_MAX_MS = 50
/** How soon a cancel is noticed should its wake-up be lost. */
const CANCEL_POLL_MS = 1_000
/** Rest after a failed exchange. */
const TROUBLE_MS = 1_000
/** After the drain time: handlers that heed their signal get the time to end. */
const STOP_NOTICE_MS = 1_000
const DRAIN_DEFAULT = '10s'

/** The loop: wake → hand in and claim → run → again. */
export class Worker implements Desk {
  readonly id: string
  readonly clock: Clock
  readonly enqueue: Enqueue
  readonly payloadLimit: number
  readonly #options: WorkerOptions
  readonly #services: WorkerServices
  readonly #pace: Pace
  readonly #news = new News()
  readonly #running = new Set<Execution>()
  readonly #unsubscribe: () => void
  readonly #finished: Promise<void>
  #ahead: Claim[] = []
  #aheadSinceMs = 0
  #session: string | null = null
  #state: 'working' | 'draining' | 'stopped' = 'working'
  #yieldsToSuspect = false
  #nextDueMs = Number.POSITIVE_INFINITY
  #troubled = false
  #nudged = false
  #wake: (() => void) | undefined
  #deadlineMs = Number.POSITIVE_INFINITY
  #cancelDeadline: (() => void) | undefined
  #drainWaiters: { includeDelayed: boolean; resolve: () => void }[] = []
  #whenEmpty: (() => void)[] = []
  #stopping: Promise<void> | undefined

  constructor(options: WorkerOptions, services: WorkerServices) {
    this.id = options.id
    this.clock = services.clock
    this.enqueue = services.enqueue
    this.payloadLimit = options.payloadLimit
    this.#options = options
    this.#services = services
    this.#pace = new Pace(options.timings)
    this.#unsubscribe = services.store.onChange((change) => this.#onChange(change))
    this.#finished = this.#work()
  }

  /** Nothing of its own in flight, and a claim found nothing due that it may run. */
  drained(options: { includeDelayed?: boolean } = {}): Promise<void> {
    if (this.#state === 'stopped') return this.#finished
    return new Promise((resolve) => {
      this.#drainWaiters.push({ includeDelayed: options.includeDelayed ?? false, resolve })
      this.#nudge()
    })
  }

  /** Finishes what runs, within `drain`; what is unfinished then goes back and costs no attempt. */
  stop(options: { drain?: Duration } = {}): Promise<void> {
    this.#stopping ??= this.#stop(durationMs(options.drain ?? DRAIN_DEFAULT, 'drain'))
    return this.#stopping
  }

  // The loop

  async #work(): Promise<void> {
    while (this.#state !== 'stopped') {
      await this.#turn()
      await this.#nextReason()
    }
    await this.#leave()
  }

  async #turn(): Promise<void> {
    try {
      this.#session ??= await this.#openSession()
      this.#handBackOldAhead()
      const want = this.#want()
      const answer = await this.#exchange(want)
      this.#accept(answer)
      if (want !== null && answer.claims.length === 0) await this.#foundNothing()
      this.#troubled = false
    } catch (error) {
      this.#troubled = true
      this.#services.emitter.emit('problem', () => ({
        message: `${this.id}: the exchange with the store failed`,
        error,
      }))
    }
  }

  async #openSession(): Promise<string> {
    const { store, keeper } = this.#services
    const { queues, capabilities } = this.#options.able
    const session = await store.openSession({
      worker: this.id,
      process: identifySelf(),
      queues,
      capabilities,
    })
    keeper.hold(session, () => this.#loseSession(session))
    return session
  }

  #want(): Want | null {
    const start = this.#options.concurrency - this.#running.size
    if (this.#state !== 'working' || start <= 0 || this.#ahead.length > 0) return null
    const empty = this.#running.size === 0
    // A suspect runs alone, and while one waits we take nothing more, so that we become empty.
    if (!empty && (this.#yieldsToSuspect || this.#runsSuspect())) return null
    return { able: this.#options.able, start, ahead: this.#pace.aheadFor(this.#options.concurrency), empty }
  }

  #runsSuspect(): boolean {
    for (const execution of this.#running) if (execution.claim.suspect) return true
    return false
  }

  async #exchange(want: Want | null): Promise<Exchanged> {
    const news = this.#news.take()
    try {
      const answer = await this.#services.store.exchange({ session: this.#session!, ...news.parts, want })
      this.#report(news.handedIn, answer)
      return answer
    } catch (error) {
      news.putBack()
      throw error
    }
  }

  #accept(answer: Exchanged): void {
    if (answer.sessionEnded) return this.#loseSession(this.#session!)
    for (const id of answer.refused) this.#loseClaim(id)
    for (const id of answer.cancels) this.#cancel(id)
    this.#yieldsToSuspect = answer.suspectsWaiting
    this.#nextDueMs =
      answer.nextDueInMs === null ? Number.POSITIVE_INFINITY : this.clock.monotonicMs() + answer.nextDueInMs
    this.#aheadSinceMs = this.clock.monotonicMs()
    if (answer.claims.length > 0) this.#pace.awake()
    for (const claim of answer.claims) {
      if (claim.started) this.#start(claim)
      else this.#ahead.push(claim)
    }
  }

  async #foundNothing(): Promise<void> {
    if (this.#running.size > 0 || !this.#news.isEmpty || this.#drainWaiters.length === 0) return
    const waiters = this.#drainWaiters
    const delayed = waiters.some((waiter) => waiter.includeDelayed) && (await this.#hasDelayed())
    this.#drainWaiters = delayed ? waiters.filter((waiter) => waiter.includeDelayed) : []
    for (const waiter of waiters) if (!delayed || !waiter.includeDelayed) waiter.resolve()
  }

  async #hasDelayed(): Promise<boolean> {
    const { queues } = this.#options.able
    const counts = await Promise.all(queues.map((queue) => this.#services.store.countTasks({ queue })))
    return counts.some(({ scheduled, queued }) => scheduled + queued > 0)
  }

  /** Waits until there is a reason for another exchange. */
  async #nextReason(): Promise<void> {
    // Handlers that never wait must not keep timers and sockets of the process from their turn.
    await new Promise(setImmediate)
    if (!this.#nudged) {
      await new Promise<void>((resolve) => {
        const cancel = this.clock.after(this.#restMs(), resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    }
    this.#wake = undefined
    this.#nudged = false
  }

  #restMs(): number {
    if (this.#troubled) return TROUBLE_MS
    const now = this.clock.monotonicMs()
    const reasons = [this.#nextDueMs - now]
    if (this.#news.sinceMs !== undefined) reasons.push(this.#news.sinceMs + NEWS_MS - now)
    if (this.#ahead.length > 0) reasons.push(this.#aheadSinceMs + AHEAD_HELD_MAX_MS - now)
    reasons.push(this.#running.size > 0 ? CANCEL_POLL_MS : this.#pace.nextIdleMs())
    return Math.max(0, Math.min(...reasons))
  }

  #nudge(): void {
    this.#nudged = true
    this.#wake?.()
  }

  #onChange(change: Change): void {
    const free = this.#running.size < this.#options.concurrency
    if (change.kind === 'ended' || (change.kind === 'work' && !free)) return
    if (change.kind === 'cancel' && this.#running.size + this.#ahead.length === 0) return
    this.#pace.awake()
    this.#nudge()
  }

  // Running

  #start(claim: Claim): void {
    const execution = new Execution(claim, this.#options.definitions.get(claim.name)!, this)
    this.#running.add(execution)
    if (!claim.started) this.#news.started(execution, execution.startedMs)
    this.#armDeadline(execution.deadlineMs)
    this.#services.emitter.emit('started', () => this.#event(execution))
    void execution
      .run(this.#services.hooks, this.payloadLimit)
      .then((outcome) => this.#finish(execution, outcome))
  }

  #finish(execution: Execution, outcome: Outcome): void {
    const now = this.clock.monotonicMs()
    this.#running.delete(execution)
    this.#pace.ran(now - execution.startedMs)
    if (!execution.settled) this.#settle(execution, outcome)
    const next = this.#ahead.shift()
    if (next !== undefined) {
      this.#aheadSinceMs = now
      return this.#start(next)
    }
    if (this.#running.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve()
    this.#nudge()
  }

  #settle(execution: Execution, outcome: Outcome): void {
    execution.settled = true
    this.#news.finished(execution, outcome, this.clock.monotonicMs())
  }

  #report(handedIn: readonly HandedIn[], answer: Exchanged): void {
    const refused = new Set(answer.refused)
    for (const { execution, outcome } of handedIn) {
      const lost = answer.sessionEnded || refused.has(execution.claim.id)
      reportOutcome(this.#services, this.#event(execution), execution, lost ? null : outcome)
    }
  }

  #event({ claim }: Execution) {
    const { id, name, queue, attempt } = claim
    return { id, name, queue, attempt, worker: this.id }
  }

  // What a running item may ask for

  note(execution: Execution, line: Parameters<Desk['note']>[1]): void {
    if (!execution.settled) this.#news.logged(execution, line, this.clock.monotonicMs())
  }

  progress(execution: Execution, fraction: number, message: string | null): void {
    if (execution.settled) return
    this.#news.progress(execution, fraction, message, this.clock.monotonicMs())
    this.#services.emitter.emit('progress', () => ({ ...this.#event(execution), fraction, message }))
  }

  async completeWith(
    execution: Execution,
    result: string | null,
    effects: Parameters<Desk['completeWith']>[2],
  ) {
    const { claim, startedAt } = execution
    const proof = { id: claim.id, fence: claim.fence, startedAt }
    const done =
      this.#session !== null &&
      (await this.#services.store.completeWith(this.#session, proof, result, effects))
    execution.settled = true
    reportOutcome(
      this.#services,
      this.#event(execution),
      execution,
      done ? { kind: 'completed', result } : null,
    )
    return done
  }

  // Ending early

  #armDeadline(deadlineMs: number): void {
    if (deadlineMs >= this.#deadlineMs) return
    this.#cancelDeadline?.()
    this.#deadlineMs = deadlineMs
    this.#cancelDeadline = this.clock.after(deadlineMs - this.clock.monotonicMs(), () =>
      this.#checkDeadlines(),
    )
  }

  /** One timer for all: it goes off at the earliest deadline there was, and is set anew. */
  #checkDeadlines(): void {
    const now = this.clock.monotonicMs()
    this.#deadlineMs = Number.POSITIVE_INFINITY
    for (const execution of this.#running) {
      if (execution.deadlineMs <= now) this.#expire(execution)
      if (!execution.settled) this.#armDeadline(execution.deadlineMs)
    }
  }

  #expire(execution: Execution): void {
    const { context } = execution
    if (context.abortReason === undefined)
      return this.#abort(execution, new TimeoutError(execution.timeoutMs))
    if (execution.settled) return
    // It did not heed the signal: the item is settled without it. Its slot stays taken until it returns.
    this.#settle(execution, execution.outcomeOf(context.abortReason))
    this.#nudge()
  }

  #abort(execution: Execution, reason: Error): void {
    execution.deadlineMs = this.clock.monotonicMs() + this.#options.timings.graceMs
    execution.context.abort(reason)
    this.#armDeadline(execution.deadlineMs)
  }

  #cancel(id: string): void {
    const execution = this.#find(id)
    if (execution !== undefined && execution.context.abortReason === undefined) {
      this.#abort(execution, new TaskCancelled(id))
    }
    const position = this.#ahead.findIndex((claim) => claim.id === id)
    if (position >= 0) this.#news.returned(this.#ahead.splice(position, 1)[0]!, this.clock.monotonicMs())
  }

  #loseClaim(id: string): void {
    const execution = this.#find(id)
    if (execution !== undefined) this.#lose(execution)
    this.#ahead = this.#ahead.filter((claim) => claim.id !== id)
  }

  #find(id: string): Execution | undefined {
    for (const execution of this.#running)
      if (execution.claim.id === id && !execution.settled) return execution
    return undefined
  }

  #lose(execution: Execution): void {
    execution.settled = true
    execution.context.abort(
      new ClaimLostError(`the claim on ${execution.claim.name} ${execution.claim.id} was lost`),
    )
    this.#services.emitter.emit('claim-lost', () => this.#event(execution))
  }

  /** Somebody ended our session (we were stopped, or asleep, for longer than the lease): all we held is gone. */
  #loseSession(session: string): void {
    if (this.#session !== session) return
    this.#services.keeper.release(session)
    this.#session = null
    this.#ahead = []
    this.#news.drop()
    for (const execution of this.#running) if (!execution.settled) this.#lose(execution)
    this.#nudge()
  }

  #handBackOldAhead(): void {
    const held = this.clock.monotonicMs() - this.#aheadSinceMs
    if (this.#ahead.length > 0 && held >= AHEAD_HELD_MAX_MS) this.#handBackAhead()
  }

  #handBackAhead(): void {
    for (const claim of this.#ahead.splice(0)) this.#news.returned(claim, this.clock.monotonicMs())
  }

  // Stopping

  async #stop(drainMs: number): Promise<void> {
    this.#state = 'draining'
    this.#handBackAhead()
    this.#nudge()
    await this.#emptyWithin(drainMs)
    for (const execution of this.#running) this.#abort(execution, new StoppedError())
    await this.#emptyWithin(STOP_NOTICE_MS)
    // Whoever is still running is not waited for; what he holds goes back with the session.
    for (const execution of this.#running) execution.settled = true
    this.#state = 'stopped'
    this.#nudge()
    await this.#finished
  }

  #emptyWithin(ms: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.clock.after(ms, resolve)
      this.#whenEmpty.push(() => {
        cancel()
        resolve()
      })
    })
  }

  async #leave(): Promise<void> {
    const { store, keeper } = this.#services
    this.#unsubscribe()
    this.#cancelDeadline?.()
    try {
      if (this.#session !== null && !this.#news.isEmpty) await this.#exchange(null)
      if (this.#session !== null) await store.endSession(this.#session, 'stop')
    } catch (error) {
      // The sweeper of another process will do it when our lease is over.
      this.#services.emitter.emit('problem', () => ({
        message: `${this.id}: could not end its session`,
        error,
      }))
    }
    if (this.#session !== null) keeper.release(this.#session)
    for (const waiter of this.#drainWaiters.splice(0)) waiter.resolve()
  }
}
