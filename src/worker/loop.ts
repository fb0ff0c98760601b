import type { Source, SourceAnswer, WorkRequest } from './attempt/source.ts'
import type { Drained } from './drained.ts'
import type { Exchanges } from './exchange.ts'
import type { WorkerParts } from './worker-parts.ts'

/** The loop of a worker: claim → run → settle → report. What has finished is settled in the same transaction that claims the next items. */
export class Loop {
  readonly #worker: WorkerParts
  readonly #exchanges: Exchanges

  constructor(worker: WorkerParts, exchanges: Exchanges) {
    this.#worker = worker
    this.#exchanges = exchanges
  }

  async run(): Promise<void> {
    const { state, polling } = this.#worker
    while (state.mode !== 'stopped') {
      await this.#turn()
      state.update()
      await polling.rest(this.#worker)
    }
  }

  async #turn(): Promise<void> {
    const { services, session, state, executor, drained } = this.#worker
    try {
      const id = session.id ?? (await session.open())
      if (state.hasNewUnavailable(id)) await state.reportUnavailable(id)
      executor.returnStale(services.clock.monotonicMs())
      const waiting = await services.isolation.inTurn(() => this.#exchangeWithAll(id))
      if (waiting.length > 0) await drained.tell(waiting)
      if (state.isTroubled) state.reachedStore(id)
    } catch (error) {
      this.#exchanges.failed()
      state.lostStore(session.id, error)
    }
  }

  /**
   * Exchanges with one source after the other. Returns who may be told that nothing is left, because they waited before the worker
   * asked: an app that called `drained` later may have enqueued something since.
   */
  async #exchangeWithAll(session: string): Promise<Drained['waiters']> {
    const { services, sources, polling, drained, resources } = this.#worker
    const waiting = drained.waiters
    let nothing = true
    for (const source of sources.inTurn()) {
      const request = this.#request(source)
      const askedMs = services.clock.monotonicMs()
      const answer = await this.#exchanges.make(source, session, request)
      // If the session was lost meanwhile, the items that it claimed have been given back as well.
      const isLost = this.#worker.session.id !== session
      if (!isLost) this.#run(source, { ...answer, askedMs }, request)
      this.#exchanges.report(this.#asksEarly())
      if (isLost) return []
      nothing &&= source.isExhausted(request, answer)
      // What went back may have become claimable a moment too late for the claim of the same exchange.
      if (answer.gaveBack && request !== null && answer.claims.length === 0) polling.nudge()
    }
    return nothing && !resources.areAsking ? waiting : []
  }

  /** What to claim from a source now. Null: nothing. */
  #request(source: Source): WorkRequest | null {
    const { services, options, inFlight, prefetch, resources, state, sources, drained } = this.#worker
    const { isolation } = services
    if (!state.isWorking || !isolation.mayClaim(inFlight) || !sources.mayAsk(source)) return null
    if (source.batches !== null) return this.#batchRequest(source)
    const ahead = prefetch.amount(options.concurrency)
    const without = resources.without()
    if (inFlight.prefetched.size > 0)
      return this.#asksEarly() ? { start: 0, ahead, empty: false, without } : null
    const start = options.concurrency - inFlight.occupied
    if (start <= 0) return null
    const empty = isolation.mayClaimSuspect(source)
    return { start, ahead, empty, thorough: drained.waiters.length > 0, without }
  }

  /** Items for all calls that could begin. */
  #batchRequest(source: Source): WorkRequest | null {
    const { services, resources, drained } = this.#worker
    return source.batches!.request(source.batchSize, {
      empty: services.isolation.mayClaimSuspect(source),
      thorough: drained.waiters.length > 0,
      without: resources.without(),
    })
  }

  /** A remote store looks for the next short items while the worker runs those that it has. */
  #asksEarly(): boolean {
    const { services, options, inFlight, prefetch } = this.#worker
    return services.store.remote && prefetch.asksEarly(inFlight.prefetched.size, options.concurrency)
  }

  /** Starts what was claimed. Before that, what the answer says about the items that it holds, and about itself. */
  #run(source: Source, answer: SourceAnswer & { askedMs: number }, request: WorkRequest | null): void {
    const { services, session, state, inFlight, polling, prefetch, sources, executor } = this.#worker
    const { claims } = answer
    state.heard(answer, request !== null)
    services.meter.claimed(source.kind, claims.length, answer.conflicts)
    if (answer.sessionEnded) return session.lose(session.id!)
    for (const id of answer.refused) inFlight.lose(id)
    for (const id of answer.cancels) inFlight.cancel(id)
    if (request !== null) services.isolation.heard(this.#worker, source, answer)
    polling.heard(source, answer)
    // It was stopped or paused while the claim was under way, so it starts nothing new.
    if (!state.isWorking) return executor.return(claims, source)
    if (request !== null && source.batches === null)
      prefetch.claimed(claims.length, request, answer.unlimited === true)
    if (claims.length > 0) sources.gave(source)
    state.begins(claims.length)
    executor.start(claims, source, answer.askedMs)
    state.update()
    if (this.#asksEarly()) polling.hurry()
  }
}
