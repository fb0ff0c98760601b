import { type Duration, durationMs } from '../duration.ts'
import { type GleanerError, StoppedError } from '../errors.ts'
import { Batches } from './batches/batches.ts'
import { Drained } from './drained.ts'
import { Exchanges } from './exchange.ts'
import { Executor } from './executor.ts'
import { InFlight } from './in-flight.ts'
import { Loop } from './loop.ts'
import { answerTo, Polling } from './polling.ts'
import { PrefetchPolicy } from './prefetch/policy.ts'
import { ResourceTracker } from './resources/tracker.ts'
import { WorkerSession } from './session.ts'
import { Sources } from './sources/sources.ts'
import type { OnPhase } from './state/phases.ts'
import type { WorkerSnapshot } from './state/snapshot.ts'
import { WorkerState } from './state/worker-state.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'
import type { WorkerParts } from './worker-parts.ts'

/** After the drain time: handlers that heed their signal get the time to end. */
const STOP_NOTICE_MS = 1_000
const DRAIN_DEFAULT = '10s'

/** A worker, as the engine and apps see it: it starts at once, and can be paused, resumed, drained and stopped. The work is done in the loop. */
export class Worker {
  readonly id: string
  readonly #parts: WorkerParts
  readonly #isSupervised: boolean
  readonly #exchanges: Exchanges
  readonly #finished: Promise<void>
  #stopping: Promise<void> | undefined

  constructor(options: WorkerOptions, services: WorkerServices) {
    this.id = options.id
    this.#isSupervised = options.supervisor !== undefined
    const parts = partsOf(options, services, () => void this.stop())
    this.#parts = parts
    this.#exchanges = new Exchanges(parts)
    services.isolation.join(parts.inFlight, () => parts.polling.nudge())
    const unsubscribe = services.store.onChange((change) => {
      const answer = answerTo(change, parts)
      if (answer === 'nothing') return false
      // Much of what happens elsewhere brings no work, such as renewals. Then the backoff continues.
      if (change.kind !== 'elsewhere') parts.polling.resetBackoff()
      parts.polling.nudge()
      return answer === 'take'
    }, parts.sources.hears)
    if (options.paused === true) this.pause()
    this.#finished = new Loop(parts, this.#exchanges).run().then(() => this.#leave(unsubscribe))
  }

  /** Handlers that have not returned. */
  get running(): number {
    const { inFlight, batches, resources } = this.#parts
    return inFlight.running - (batches?.withoutHandler ?? 0) - resources.waiting
  }
  /** The database knows it. */
  get hasSession(): boolean {
    return this.#parts.session.id !== null
  }
  get session(): string | null {
    return this.#parts.session.id
  }
  get isSupervised(): boolean {
    return this.#isSupervised
  }
  /** Why it gave up. Null while it has not. */
  get failed(): GleanerError | null {
    return this.#parts.state.failed
  }
  snapshot(): WorkerSnapshot {
    return this.#parts.state.snapshot()
  }
  onPhase(listener: OnPhase): () => void {
    return this.#parts.state.phases.on(listener)
  }
  /** It makes no exchange before something wakes it. */
  get isResting(): boolean {
    return this.#parts.polling.isResting
  }

  /** Resolves when nothing of its own is in flight, and a claim found nothing due that it may run. */
  drained(options: { includeDelayed?: boolean } = {}): Promise<void> {
    const { state, drained, polling } = this.#parts
    if (state.failed !== null) return Promise.reject(state.failed)
    if (state.mode === 'stopped') return this.#finished
    const waiting = drained.wait(options.includeDelayed ?? false)
    polling.nudge()
    return waiting
  }

  /** Finishes the running items within `drain`. Unfinished items go back and lose no attempt. */
  stop(options: { drain?: Duration } = {}): Promise<void> {
    const drainMs = durationMs(options.drain ?? DRAIN_DEFAULT, 'drain')
    const { services, inFlight } = this.#parts
    // A later call may have less time.
    if (this.#stopping !== undefined) services.clock.afterIfAlive(drainMs, () => inFlight.waitNoLonger())
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  /** Finishes the running items, and claims nothing until it is resumed. `reason`: for people who ask why. */
  pause(reason = 'by a command'): void {
    const { mode } = this.#parts.state
    if (mode === 'draining' || mode === 'stopped') return
    this.#claimNothing('paused', reason)
  }

  resume(): void {
    const { state, executor, polling } = this.#parts
    if (state.mode !== 'paused') return
    state.enter('working')
    executor.isOpen = true
    polling.nudge()
  }

  #claimNothing(mode: 'paused' | 'draining', reason?: string): void {
    const { services, state, inFlight, executor, polling } = this.#parts
    state.enter(mode, reason)
    services.isolation.suspectsWaiting(inFlight, false)
    executor.isOpen = false
    polling.nudge()
  }

  async #stop(drainMs: number): Promise<void> {
    const { state, inFlight, polling } = this.#parts
    this.#claimNothing('draining')
    await inFlight.emptyWithin(drainMs)
    inFlight.abortAll(new StoppedError())
    await inFlight.emptyWithin(STOP_NOTICE_MS)
    inFlight.abandonAll()
    state.enter('stopped')
    polling.nudge()
    await this.#finished
  }

  async #leave(unsubscribe: () => void): Promise<void> {
    const { services, session, inFlight, state, resources, drained } = this.#parts
    unsubscribe()
    services.isolation.leave(inFlight)
    try {
      await session.end(this.#exchanges)
    } catch (error) {
      // The sweeper of another process ends it when its lease is over.
      state.problem('could not end its session', error)
    }
    session.release()
    this.#exchanges.report(false)
    await resources.leave()
    drained.end(state.failed)
  }
}

/** They know each other through `parts`, which is complete before any of them is used. */
function partsOf(options: WorkerOptions, services: WorkerServices, onFailed: () => void): WorkerParts {
  const { clock, emitter, watch, store } = services
  const { graceMs } = options.timings
  const parts = { options, services } as WorkerParts
  const polling = new Polling(clock, options.timings)
  const batches = batchesOf(parts)
  return Object.assign(parts, {
    polling,
    sources: new Sources(options.sources),
    session: new WorkerSession(parts),
    inFlight: new InFlight({
      clock,
      emitter,
      watch,
      graceMs,
      batches: batches ?? undefined,
      onFree: () => polling.nudge(),
    }),
    batches,
    state: new WorkerState(parts, onFailed),
    resources: new ResourceTracker(parts),
    prefetch: new PrefetchPolicy(store.remote),
    executor: new Executor(parts),
    drained: new Drained(parts),
  })
}

function batchesOf(parts: WorkerParts): Batches | null {
  const sources = parts.options.sources.filter(({ batchSize }) => batchSize > 0)
  if (sources.length === 0) return null
  const batches = new Batches(parts)
  for (const source of sources) source.batches = batches
  return batches
}
