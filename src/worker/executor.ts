import type { Attempt } from './attempt/attempt.ts'
import type { AttemptOutcome, Item, Source } from './attempt/source.ts'
import type { Batches } from './batches/batches.ts'
import type { InFlight } from './in-flight.ts'
import type { Polling } from './polling.ts'
import type { PrefetchPolicy } from './prefetch/policy.ts'
import { Yielding } from './prefetch/yielding.ts'
import type { ResourceTracker } from './resources/tracker.ts'
import { RunServices } from './run-services.ts'
import type { WorkerSession } from './session.ts'
import type { WorkerState } from './state/worker-state.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

interface ExecutorParts {
  options: WorkerOptions
  services: WorkerServices
  session: WorkerSession
  inFlight: InFlight
  prefetch: PrefetchPolicy
  resources: ResourceTracker
  polling: Polling
  state: WorkerState
  batches: Batches | null
}

/** What starts next? Starts claimed items, settles attempts whose handler returned, and starts prefetched items in their place. */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #runServices: RunServices
  readonly #yielding: Yielding
  /** Claims that arrive while it is closed go back. */
  #isOpen = true

  constructor(parts: ExecutorParts) {
    this.#parts = parts
    this.#runServices = new RunServices(parts)
    this.#yielding = new Yielding(parts.services.clock, () => this.#startNext())
  }

  /** Starts the items that were claimed to be started, and keeps the others prefetched. */
  start(claims: readonly Item[], source: Source, askedMs: number): void {
    const { services, inFlight, options } = this.#parts
    const { prefetched } = inFlight
    const isRemote = services.store.remote
    if (isRemote) this.#yielding.begin()
    for (const claim of claims) if (claim.started) this.#start(claim, source)
    const rest = claims.filter((claim) => !claim.started)
    prefetched.add(rest, source, services.clock.monotonicMs(), askedMs)
    // They were claimed while the worker had free slots, so the end of no attempt would start them.
    const free = Math.min(prefetched.size, options.concurrency - inFlight.occupied - this.#yielding.vacant)
    // A remote store is asked for more first: it works while these run.
    if (free > 0 && isRemote) this.#yielding.startLater(free)
    else for (let n = 0; n < free; n++) this.#startNext()
    if (!this.#isOpen) this.returnPrefetched()
  }

  /** While it is closed it starts nothing. Running attempts continue. */
  set isOpen(isOpen: boolean) {
    this.#isOpen = isOpen
    if (isOpen) return
    this.returnPrefetched()
    this.#parts.batches?.flush()
  }

  /** Prefetched items that wait for too long go back: another worker may be idle. */
  returnStale(nowMs: number): void {
    const { inFlight, prefetch } = this.#parts
    if (!inFlight.prefetched.isStale(nowMs)) return
    prefetch.returned()
    this.returnPrefetched()
  }

  returnPrefetched(): void {
    for (const { claims, source } of this.#parts.inFlight.prefetched.take()) this.return(claims, source)
  }

  /** The worker never started them, so they lose no attempt. */
  return(claims: readonly Item[], source: Source): void {
    for (const claim of claims) source.outbox.returned(claim, this.#parts.services.clock.monotonicMs())
  }

  #start(claim: Item, source: Source): void {
    // An attempt that never waits may have made the worker give up, in the middle of what was claimed with it.
    if (!this.#isOpen) return this.return([claim], source)
    const { services, inFlight } = this.#parts
    const attempt = source.begin(claim, this.#runServices)
    source.batches?.added()
    inFlight.add(attempt)
    if (services.emitter.hears('started')) services.emitter.emit('started', () => attempt.event)
    void attempt.run(services.hooks, this.#ended)
  }

  /** Its rate has counted a start until then. */
  #mayStart({ startWithinMs }: Item, askedMs: number): boolean {
    if (startWithinMs === undefined) return true
    return this.#parts.services.clock.monotonicMs() - askedMs <= startWithinMs
  }

  readonly #ended = (attempt: Attempt, outcome: AttemptOutcome): void => {
    const { services, inFlight, prefetch, resources, state } = this.#parts
    const nowMs = services.clock.monotonicMs()
    const ranMs = nowMs - attempt.startedMs
    inFlight.remove(attempt)
    // The time of a batch says nothing about a single item.
    if (attempt.source.batches === null) prefetch.ran(ranMs, nowMs)
    else attempt.source.batches.removed()
    this.#parts.batches?.startReady()
    if (attempt.uses !== null) resources.release(attempt, attempt.trouble !== undefined)
    if (!attempt.settled) {
      inFlight.settle(attempt, outcome, nowMs)
      state.ran(attempt, outcome, ranMs)
    }
    services.isolation.ended(attempt.claim.suspect, ranMs)
    // If the handler did not wait, an item may have become stale meanwhile. After a pause nothing old may start.
    this.returnStale(nowMs)
    if (services.store.remote && inFlight.prefetched.size > 0 && this.#yielding.isOver(nowMs))
      return this.#yielding.startLater()
    this.#startNext()
  }

  #startNext(): void {
    const { inFlight, prefetch, polling, options, batches } = this.#parts
    const { source, askedMs } = inFlight.prefetched
    // Many attempts of one call end in one slot.
    const isTaken = batches !== null && inFlight.occupied >= options.concurrency
    if (source !== undefined && !isTaken) {
      const next = inFlight.prefetched.next()!
      if (this.#parts.services.store.remote && inFlight.prefetched.size === prefetch.low) polling.nudge()
      if (this.#mayStart(next, askedMs)) return this.#start(next, source)
      prefetch.returned()
      this.return([next], source)
      // What was claimed with it is as late.
      return this.returnPrefetched()
    }
    if (inFlight.running === 0) inFlight.waitNoLonger()
    polling.nudge()
  }
}
