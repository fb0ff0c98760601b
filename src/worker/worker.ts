import { type Duration, durationMs } from '../duration.ts'
import { type GleanerError, mustReopen, StoppedError } from '../errors.ts'
import { identifySelf } from '../process-identity.ts'
import type { Change } from '../store/contract.ts'
import { Drained } from './drained.ts'
import { Exchanges } from './exchange.ts'
import { InFlight } from './in-flight.ts'
import { answerTo, restMs } from './polling/polling.ts'
import { Waker } from './polling/waker.ts'
import { PrefetchPolicy } from './prefetch/policy.ts'
import { leave } from './session.ts'
import type { Capacity, Source, SourceAnswer } from './sources/source.ts'
import { Sources } from './sources/sources.ts'
import type { OnPhase } from './state/phases.ts'
import type { WorkerSnapshot } from './state/snapshot.ts'
import { WorkerState } from './state/worker-state.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

/** After the drain time: handlers that heed their signal get the time to end. */
const STOP_NOTICE_MS = 1_000
const DRAIN_DEFAULT = '10s'

/** The loop: wake → hand in and claim → run → again. */
export class Worker {
  readonly id: string
  readonly #options: WorkerOptions
  readonly #services: WorkerServices
  readonly #pace: PrefetchPolicy
  readonly #inFlight: InFlight
  readonly #exchanges: Exchanges
  readonly #sources: Sources
  readonly #waker: Waker
  readonly #state: WorkerState
  readonly #unsubscribe: () => void
  readonly #finished: Promise<void>
  #session: string | null = null
  #mode: 'working' | 'paused' | 'draining' | 'stopped' = 'working'
  readonly #drained = new Drained()
  #stopping: Promise<void> | undefined

  constructor(options: WorkerOptions, services: WorkerServices) {
    this.id = options.id
    this.#options = options
    this.#services = services
    this.#pace = new PrefetchPolicy(options.timings, services.store.remote)
    this.#waker = new Waker(services.clock)
    this.#sources = new Sources(options.sources)
    this.#state = new WorkerState({
      ...services,
      ...options,
      inFlight: () => this.#inFlight,
      onChange: () => this.#waker.nudge(),
      onFailed: () => void this.stop(),
    })
    this.#inFlight = new InFlight({
      ...services,
      ...options,
      graceMs: options.timings.graceMs,
      pace: this.#pace,
      state: this.#state,
      session: () => this.#session,
      onFree: () => this.#waker.nudge(),
      onEnd: (wasSuspect, ranMs) => services.isolation.ended(wasSuspect, ranMs),
    })
    this.#exchanges = new Exchanges(this.#inFlight, this.#pace, services.clock, services.store.remote)
    services.isolation.join(this.#inFlight, () => this.#waker.nudge())
    this.#unsubscribe = services.store.onChange((change) => this.#onChange(change), this.#sources.hears)
    if (options.paused === true) this.pause()
    this.#finished = this.#work()
  }

  /** Handlers that have not returned. */
  get running(): number {
    return this.#inFlight.running - this.#state.resources.waiting
  }
  /** It is known to the database. */
  get hasSession(): boolean {
    return this.#session !== null
  }
  /** Why it gave up; null while it has not. */
  get failed(): GleanerError | null {
    return this.#state.failed
  }
  snapshot(): WorkerSnapshot {
    return this.#state.snapshot()
  }
  onPhase(listener: OnPhase): () => void {
    return this.#state.phases.on(listener)
  }
  /** Nothing is to be handed in or claimed before somebody or some timer wakes it. */
  get isResting(): boolean {
    return this.#waker.isResting
  }
  /** Nothing of its own in flight, and a claim found nothing due that it may run. */
  drained(options: { includeDelayed?: boolean } = {}): Promise<void> {
    const { failed } = this.#state
    if (failed !== null) return Promise.reject(failed)
    if (this.#mode === 'stopped') return this.#finished
    const drained = this.#drained.wait(options.includeDelayed ?? false)
    this.#waker.nudge()
    return drained
  }

  /** Finishes what runs, within `drain`; what is unfinished then goes back and costs no attempt. */
  stop(options: { drain?: Duration } = {}): Promise<void> {
    const drainMs = durationMs(options.drain ?? DRAIN_DEFAULT, 'drain')
    // Whoever asks again may be in more of a hurry.
    if (this.#stopping !== undefined)
      this.#services.clock.afterIfAlive(drainMs, () => this.#inFlight.waitNoLonger())
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  /** Finishes what runs, and claims nothing until it is resumed. `reason`: for people who ask why. */
  pause(reason = 'by a command'): void {
    if (this.#mode === 'draining' || this.#mode === 'stopped') return
    this.#claimNothing('paused', reason)
  }

  resume(): void {
    if (this.#mode !== 'paused') return
    this.#mode = 'working'
    this.#state.told('working')
    this.#inFlight.isOpen = true
    this.#waker.nudge()
  }

  async #work(): Promise<void> {
    while (this.#mode !== 'stopped') {
      await this.#turn()
      this.#state.update()
      await this.#waker.rest(() => this.#restMs())
    }
    await this.#leave()
  }

  async #turn(): Promise<void> {
    try {
      this.#session ??= await this.#openSession()
      const session = this.#session
      if (this.#state.hasNewHoldups(session)) await this.#state.tellHoldups(this.#services.store, session)
      this.#inFlight.handBackOld(this.#services.clock.monotonicMs())
      await this.#tellDrained(await this.#services.isolation.inTurn(() => this.#trade(session)))
      this.#state.trouble = null
      this.#services.keeper.exchanged(session)
    } catch (error) {
      this.#state.troubledBy(error)
      if (this.#session !== null) this.#services.keeper.exchanged(this.#session, error)
      this.#exchanges.failed()
      this.#state.problem('the exchange with the store failed', error)
      if (mustReopen(error)) this.#state.giveUp(error)
    }
  }

  /**
   * InFlight in and claims, at one source after the other. If it asked all of them for more and there was nothing, it
   * answers those who waited for that before it asked: whoever came later may have enqueued something since.
   */
  async #trade(session: string): Promise<Drained['waiting']> {
    const { waiting } = this.#drained
    let nothing = true
    for (const source of this.#sources.inTurn()) {
      const want = this.#want(source)
      const answer = await this.#exchanges.make(source, session, want)
      // Lost while we waited for the answer: what it claims for us has been given back as well.
      const isLost = this.#session !== session
      if (!isLost) this.#accept(session, source, answer, want)
      this.#exchanges.report(this.#asksEarly())
      if (isLost) return []
      nothing &&= source.isExhausted(want, answer)
      // What went back may have been claimable a moment too late for the claim of the same exchange.
      if (answer.gaveBack && want !== null && answer.claims.length === 0) this.#waker.nudge()
    }
    return nothing && !this.#state.resources.areAsking ? waiting : []
  }

  async #openSession(): Promise<string> {
    const { store, keeper } = this.#services
    const { id: worker, capabilities, supervisor } = this.#options
    const self = { worker, process: identifySelf(), supervisor, capabilities }
    const session = await store.openSession({ ...self, ...this.#sources.serve })
    keeper.hold(session, () => this.#loseSession(session))
    return session
  }

  #want(source: Source): Capacity | null {
    const [{ concurrency }, { isolation }] = [this.#options, this.#services]
    const start = concurrency - this.#inFlight.running
    if (this.#mode !== 'working' || !isolation.mayClaim(this.#inFlight) || !this.#sources.mayAsk(source))
      return null
    const ahead = this.#pace.aheadFor(concurrency)
    const without = this.#state.resources.without()
    if (this.#inFlight.ahead > 0) return this.#asksEarly() ? { start: 0, ahead, empty: false, without } : null
    if (start <= 0) return null
    const empty = isolation.isEmpty && (source.suspectsWait || source.suspectsGoFirst(isolation))
    return { start, ahead, empty, thorough: this.#drained.isAwaited, without }
  }

  /** A store that works elsewhere looks for the next short items while we run those that we have. */
  #asksEarly(): boolean {
    return (
      this.#services.store.remote && this.#pace.asksEarly(this.#inFlight.ahead, this.#options.concurrency)
    )
  }

  #accept(session: string, source: Source, answer: SourceAnswer, want: Capacity | null): void {
    const { isolation, clock, store, meter } = this.#services
    this.#state.heard(answer, want !== null)
    meter.claimed(source.kind, answer.claims.length, answer.conflicts)
    if (answer.sessionEnded) return this.#loseSession(session)
    for (const id of answer.refused) this.#inFlight.lose(id)
    for (const id of answer.cancels) this.#inFlight.cancel(id)
    if (want !== null) {
      // Who leaves holds nobody back: he will not claim it.
      const mayWait = answer.suspectsWaiting && this.#mode === 'working'
      source.suspectsWait = mayWait && (answer.claims.length === 0 || source.suspectsGoFirst(isolation))
      isolation.suspectsWaiting(this.#inFlight, this.#sources.suspectsWait)
      if (source.suspectsWait && isolation.isEmpty) this.#waker.nudge()
    }
    source.nextDueMs = clock.monotonicMs() + (answer.nextDueInMs ?? Number.POSITIVE_INFINITY)
    if (answer.claims.length > 0) this.#pace.awake()
    // Told to stop while the claim was under way: nothing new is begun.
    if (this.#mode !== 'working') return this.#inFlight.handBack(answer.claims, source)
    if (want !== null) this.#pace.got(answer.claims.length, want, answer.unlimited === true)
    if (answer.claims.length > 0) this.#sources.gave(source)
    this.#state.begins(answer.claims.length)
    this.#inFlight.take(answer.claims, source, store.remote ? this.#pace.low : undefined)
    this.#state.update()
    if (this.#asksEarly()) this.#waker.hurry()
  }

  async #tellDrained(waiting: Drained['waiting']): Promise<void> {
    const { running, ahead } = this.#inFlight
    if (running > 0 || ahead > 0 || this.#sources.haveUnsent || waiting.length === 0) return
    await this.#drained.tell(waiting, () => this.#sources.haveDelayed())
  }

  #restMs(): number {
    const [{ isTroubled }, { clock }] = [this.#state, this.#services]
    return restMs({ clock, inFlight: this.#inFlight, sources: this.#sources, pace: this.#pace, isTroubled })
  }

  /** True: it takes what it is told of. */
  #onChange(change: Change): boolean {
    const answer = answerTo(change, {
      ...{ inFlight: this.#inFlight, sources: this.#sources, concurrency: this.#options.concurrency },
      mayClaim: () => this.#mode === 'working' && this.#services.isolation.mayClaim(this.#inFlight),
      without: () => this.#state.resources.without(),
    })
    if (answer === 'nothing') return false
    // Elsewhere much happens that brings no work, such as renewals: who finds none goes on resting longer each time.
    if (change.kind !== 'elsewhere') this.#pace.awake()
    this.#waker.nudge()
    return answer === 'take'
  }

  /** Somebody ended our session (we were stopped, or asleep, for longer than the lease): all we held is gone. */
  #loseSession(session: string): void {
    if (this.#session !== session) return
    this.#services.keeper.release(session)
    this.#session = null
    this.#inFlight.loseEverything()
    this.#sources.dropOutboxes()
    this.#waker.nudge()
  }

  #claimNothing(state: 'paused' | 'draining', reason?: string): void {
    this.#mode = state
    this.#state.told(state, reason)
    this.#services.isolation.suspectsWaiting(this.#inFlight, false)
    this.#inFlight.isOpen = false
    this.#waker.nudge()
  }

  async #stop(drainMs: number): Promise<void> {
    this.#claimNothing('draining')
    await this.#inFlight.emptyWithin(drainMs)
    this.#inFlight.abortAll(new StoppedError())
    await this.#inFlight.emptyWithin(STOP_NOTICE_MS)
    this.#inFlight.abandonAll()
    this.#mode = 'stopped'
    this.#waker.nudge()
    await this.#finished
  }

  async #leave(): Promise<void> {
    const { store, keeper, clock, isolation } = this.#services
    this.#unsubscribe()
    isolation.leave(this.#inFlight)
    const [session, inFlight, sources, exchanges] = [
      this.#session,
      this.#inFlight,
      this.#sources,
      this.#exchanges,
    ]
    try {
      if (session !== null) await leave({ session, store, clock, inFlight, sources, exchanges })
    } catch (error) {
      // The sweeper of another process will do it when our lease is over.
      this.#state.problem('could not end its session', error)
    }
    if (this.#session !== null) keeper.release(this.#session)
    this.#exchanges.report(false)
    await this.#state.resources.leave()
    this.#drained.tellEverybody(this.#state.failed)
  }
}
