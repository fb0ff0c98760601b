import { type Duration, durationMs } from '../duration.ts'
import { StoppedError } from '../errors.ts'
import { identifySelf } from '../process-identity.ts'
import type { Change } from '../store/contract.ts'
import { Drained } from './drained.ts'
import { Hands } from './hands.ts'
import { Pace } from './pace.ts'
import type { Room, Source, Taken } from './sources/source.ts'
import { Sources } from './sources/sources.ts'
import { Waker } from './waker.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

/** News waits this long for more, so that short items share a transaction. */
const NEWS_MS = 20
/** What is held ahead and still not started then goes back: somebody else may be idle. */
const AHEAD_HELD_MAX_MS = 50
/** Rest after a failed exchange. */
const TROUBLE_MS = 1_000
/** A commit whose answer was lost may still go through for that long. */
const IN_DOUBT_MS = 60_000
/** After the drain time: handlers that heed their signal get the time to end. */
const STOP_NOTICE_MS = 1_000
const DRAIN_DEFAULT = '10s'

/** The loop: wake → hand in and claim → run → again. */
export class Worker {
  readonly id: string
  readonly #options: WorkerOptions
  readonly #services: WorkerServices
  readonly #pace: Pace
  readonly #hands: Hands
  readonly #sources: Sources
  readonly #waker: Waker
  readonly #unsubscribe: () => void
  readonly #finished: Promise<void>
  #session: string | null = null
  #state: 'working' | 'paused' | 'draining' | 'stopped' = 'working'
  #troubled = false
  #inDoubtUntilMs = Number.NEGATIVE_INFINITY
  readonly #drained = new Drained()
  #stopping: Promise<void> | undefined

  constructor(options: WorkerOptions, services: WorkerServices) {
    this.id = options.id
    this.#options = options
    this.#services = services
    this.#pace = new Pace(options.timings)
    this.#waker = new Waker(services.clock)
    this.#sources = new Sources(options.sources)
    this.#hands = new Hands({
      ...services,
      worker: options.id,
      payloadLimit: options.payloadLimit,
      graceMs: options.timings.graceMs,
      concurrency: options.concurrency,
      pace: this.#pace,
      session: () => this.#session,
      onFree: () => this.#waker.nudge(),
      onEnd: (wasSuspect) => services.household.ended(wasSuspect),
    })
    services.household.join(this.#hands, () => this.#waker.nudge())
    this.#unsubscribe = services.store.onChange((change) => this.#onChange(change))
    if (options.paused === true) this.#state = 'paused'
    this.#finished = this.#work()
  }

  /** Handlers that have not returned. */
  get running(): number {
    return this.#hands.running
  }

  /** Nothing is to be handed in or claimed before somebody or some timer wakes it. */
  get isResting(): boolean {
    return this.#waker.isResting
  }

  /** Nothing of its own in flight, and a claim found nothing due that it may run. */
  drained(options: { includeDelayed?: boolean } = {}): Promise<void> {
    if (this.#state === 'stopped') return this.#finished
    const drained = this.#drained.wait(options.includeDelayed ?? false)
    this.#waker.nudge()
    return drained
  }

  /** Finishes what runs, within `drain`; what is unfinished then goes back and costs no attempt. */
  stop(options: { drain?: Duration } = {}): Promise<void> {
    const drainMs = durationMs(options.drain ?? DRAIN_DEFAULT, 'drain')
    // Whoever asks again may be in more of a hurry.
    if (this.#stopping !== undefined)
      this.#services.clock.afterIfAlive(drainMs, () => this.#hands.waitNoLonger())
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  /** Finishes what runs, and claims nothing until it is resumed. */
  pause(): void {
    if (this.#state === 'working') this.#claimNothing('paused')
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'working'
    this.#waker.nudge()
  }

  async #work(): Promise<void> {
    while (this.#state !== 'stopped') {
      await this.#turn()
      await this.#waker.rest(() => this.#restMs())
    }
    await this.#leave()
  }

  async #turn(): Promise<void> {
    try {
      this.#session ??= await this.#openSession()
      const session = this.#session
      if (this.#aheadIsOld()) this.#hands.handBackAhead()
      await this.#tellDrained(await this.#services.household.inTurn(() => this.#trade(session)))
      this.#troubled = false
    } catch (error) {
      this.#troubled = true
      this.#inDoubtUntilMs = this.#services.clock.monotonicMs() + IN_DOUBT_MS
      this.#problem('the exchange with the store failed', error)
    }
  }

  /**
   * Hands in and claims, at one source after the other. If it asked all of them for more and there was nothing, it
   * answers those who waited for that before it asked: whoever came later may have enqueued something since.
   */
  async #trade(session: string): Promise<Drained['waiting']> {
    const { waiting } = this.#drained
    let nothing = true
    for (const source of this.#sources.inTurn()) {
      const want = this.#want(source)
      const answer = await this.#exchange(source, want)
      // Lost while we waited for the answer: what it claims for us has been given back as well.
      if (this.#session !== session) return []
      this.#accept(session, source, answer, want)
      if (want === null || want.start === 0 || answer.claims.length > 0) nothing = false
    }
    return nothing ? waiting : []
  }

  async #openSession(): Promise<string> {
    const { store, keeper } = this.#services
    const { id: worker, capabilities, supervisor } = this.#options
    const self = { worker, process: identifySelf(), supervisor }
    const session = await store.openSession({ ...self, capabilities, ...this.#sources.serve })
    keeper.hold(session, () => this.#loseSession(session))
    return session
  }

  #want(source: Source): Room | null {
    const { concurrency } = this.#options
    const start = concurrency - this.#hands.running
    const { household } = this.#services
    if (this.#state !== 'working' || !household.mayClaim(this.#hands) || !this.#sources.mayAsk(source))
      return null
    const ahead = this.#pace.aheadFor(concurrency)
    if (this.#hands.ahead > 0) return this.#asksEarly() ? { start: 0, ahead, empty: false } : null
    if (start <= 0) return null
    return { start, ahead, empty: household.isEmpty, thorough: this.#drained.isAwaited }
  }

  /** A store that works elsewhere looks for the next short items while we run those that we have. */
  #asksEarly(): boolean {
    return this.#services.store.remote && this.#pace.asksEarly(this.#hands.ahead, this.#options.concurrency)
  }

  async #exchange(source: Source, want: Room | null): Promise<Taken> {
    const news = source.news.take()
    const begun = this.#hands.unknownStarts(source)
    const starts = begun.map(({ claim: { id, fence }, startedAt }) => ({ id, fence, startedAt }))
    try {
      const inDoubt = this.#services.clock.monotonicMs() < this.#inDoubtUntilMs
      const answer = await source.exchange({
        session: this.#session!,
        starts,
        ...news.parts,
        want,
        holding: inDoubt ? this.#hands.ids(source) : undefined,
      })
      for (const execution of begun) execution.startIsKnown = true
      source.report(this.#hands.reporting, news.handedIn, answer)
      return answer
    } catch (error) {
      news.putBack()
      throw error
    }
  }

  #accept(session: string, source: Source, answer: Taken, want: Room | null): void {
    if (answer.sessionEnded) return this.#loseSession(session)
    for (const id of answer.refused) this.#hands.lose(id)
    for (const id of answer.cancels) this.#hands.cancel(id)
    if (want !== null) {
      // Who leaves holds nobody back: he will not claim it.
      source.suspectsWait = answer.suspectsWaiting && this.#state === 'working'
      this.#services.household.suspectsWaiting(this.#hands, this.#sources.suspectsWait)
    }
    const now = this.#services.clock.monotonicMs()
    source.nextDueMs = answer.nextDueInMs === null ? Number.POSITIVE_INFINITY : now + answer.nextDueInMs
    if (answer.claims.length > 0) this.#pace.awake()
    // Told to stop while the claim was under way: nothing new is begun.
    if (this.#state !== 'working') return this.#hands.handBack(answer.claims, source)
    if (want !== null) this.#pace.got(answer.claims.length, want)
    if (answer.claims.length > 0) this.#sources.gave(source)
    const { remote } = this.#services.store
    this.#hands.take(answer.claims, source, remote ? this.#pace.low : undefined)
    if (this.#asksEarly()) this.#waker.nudge()
  }

  async #tellDrained(waiting: Drained['waiting']): Promise<void> {
    const { running, ahead } = this.#hands
    if (running > 0 || ahead > 0 || this.#sources.haveNews || waiting.length === 0) return
    await this.#drained.tell(waiting, () => this.#sources.haveDelayed())
  }

  /** How long the next exchange can wait when nobody wakes us. */
  #restMs(): number {
    if (this.#troubled) return TROUBLE_MS
    const now = this.#services.clock.monotonicMs()
    const reasons = [this.#pace.nextLookMs(this.#hands.running > 0)]
    for (const source of this.#sources) {
      reasons.push(source.nextDueMs - now)
      if (source.news.sinceMs !== undefined) reasons.push(source.news.sinceMs + NEWS_MS - now)
      for (const { startedMs } of this.#hands.unknownStarts(source)) reasons.push(startedMs + NEWS_MS - now)
    }
    if (this.#hands.ahead > 0) reasons.push(this.#hands.aheadSinceMs + AHEAD_HELD_MAX_MS - now)
    return Math.max(0, Math.min(...reasons))
  }

  #aheadIsOld(): boolean {
    const heldMs = this.#services.clock.monotonicMs() - this.#hands.aheadSinceMs
    return this.#hands.ahead > 0 && heldMs >= AHEAD_HELD_MAX_MS
  }

  #onChange(change: Change): void {
    const { running, ahead } = this.#hands
    if (change.kind === 'ended' || (change.kind === 'elsewhere' && change.only === 'ended')) return
    // Busy with short items: the next exchange is a few milliseconds away, and brings everything.
    if (change.kind !== 'cancel' && ahead > 0) return
    if (change.kind === 'work' && running >= this.#options.concurrency) return
    if (change.kind === 'cancel' && running + ahead === 0) return
    this.#pace.awake()
    this.#waker.nudge()
  }

  /** Somebody ended our session (we were stopped, or asleep, for longer than the lease): all we held is gone. */
  #loseSession(session: string): void {
    if (this.#session !== session) return
    this.#services.keeper.release(session)
    this.#session = null
    this.#hands.loseEverything()
    this.#sources.dropNews()
    this.#waker.nudge()
  }

  #claimNothing(state: 'paused' | 'draining'): void {
    this.#state = state
    this.#services.household.suspectsWaiting(this.#hands, false)
    this.#hands.handBackAhead()
    this.#waker.nudge()
  }

  async #stop(drainMs: number): Promise<void> {
    this.#claimNothing('draining')
    await this.#hands.emptyWithin(drainMs)
    this.#hands.abortAll(new StoppedError())
    await this.#hands.emptyWithin(STOP_NOTICE_MS)
    this.#hands.abandonAll()
    this.#state = 'stopped'
    this.#waker.nudge()
    await this.#finished
  }

  /** The last news, then the end of the session, which gives back whatever is left. */
  async #leave(): Promise<void> {
    const { store, keeper } = this.#services
    this.#unsubscribe()
    this.#services.household.leave(this.#hands)
    try {
      for (const source of this.#sources)
        if (this.#session !== null && !source.news.isEmpty) await this.#exchange(source, null)
      if (this.#session !== null) await store.endSession(this.#session, 'stop')
    } catch (error) {
      // The sweeper of another process will do it when our lease is over.
      this.#problem('could not end its session', error)
    }
    if (this.#session !== null) keeper.release(this.#session)
    this.#drained.tellEverybody()
  }

  #problem(what: string, error: unknown): void {
    this.#services.emitter.emit('problem', () => ({ message: `${this.id}: ${what}`, error }))
  }
}
