import type { Clock } from '../../clock.ts'
import { type GleanerError, mustReopen, ResourceError } from '../../errors.ts'
import { pausedWorker, type UnavailableResource } from '../../model/unavailable-resource.ts'
import type { Store } from '../../store/ports/store.ts'
import { messageOf, property } from '../../thrown.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Emitter } from '../attempt/events.ts'
import type { AttemptOutcome, SourceAnswer } from '../attempt/source.ts'
import { Phases, phaseOf } from './phases.ts'
import type { HeldItem, ResourceSnapshot, WorkerSnapshot } from './snapshot.ts'
import { WorkerStats } from './stats.ts'

interface StateParts {
  options: { readonly id: string; readonly resourceErrorLimit: number }
  services: {
    readonly clock: Clock
    readonly emitter: Emitter
    readonly store: Pick<Store, 'sessions'>
    readonly keeper: { exchanged(session: string, error?: unknown): void }
  }
  inFlight: { readonly running: number; current(): HeldItem[] }
  resources: WorkerResources
}

/** What the state of a worker says about its resources. */
interface WorkerResources {
  readonly isNothing: boolean
  /** Runs that wait for a resource. */
  readonly waiting: number
  readonly areLoading: boolean
  /** It is not known yet whether they are available. */
  readonly areUnknown: boolean
  /** Why the worker cannot run what it is there for. */
  readonly lack: string | null
  unavailable(): readonly UnavailableResource[]
  snapshot(): ResourceSnapshot[]
}

/** How is the worker? Its mode, its phase, its counters, what keeps it from working, and why it gave up. */
export class WorkerState {
  readonly stats = new WorkerStats()
  readonly phases: Phases
  readonly #parts: StateParts
  readonly #onFailed: () => void
  #mode: 'working' | 'paused' | 'draining' | 'stopped' = 'working'
  /** What the database was told last. */
  #reported: {
    session: string
    unavailable: readonly UnavailableResource[]
    pause: UnavailableResource | null
  } = {
    session: '',
    unavailable: [],
    pause: null,
  }
  #isReady = false
  /** Why it is paused. */
  #pause: UnavailableResource | null = null
  #isEverythingPaused = false
  /** Why the last exchange with the store failed. */
  trouble: string | null = null
  /** Why it gave up. */
  failed: GleanerError | null = null

  constructor(parts: StateParts, onFailed: () => void) {
    this.#parts = parts
    this.#onFailed = onFailed
    this.phases = new Phases(parts.services.clock, (error) =>
      this.problem('a listener of onPhase threw', error),
    )
  }

  get mode(): 'working' | 'paused' | 'draining' | 'stopped' {
    return this.#mode
  }

  get isWorking(): boolean {
    return this.#mode === 'working'
  }

  /** `pauseReason`: for people who ask why it is paused. */
  enter(mode: 'working' | 'paused' | 'draining' | 'stopped', pauseReason?: string): void {
    this.#mode = mode
    if (pauseReason === undefined) this.#pause = null
    else if (this.#pause?.reason !== pauseReason) this.#pause = pausedWorker(pauseReason)
    this.update()
  }

  /** A handler may block the event loop at once, so the phase says before that it runs. An item that needs a resource begins with a wait. */
  begins(items: number): void {
    if (this.#parts.resources.isNothing) this.update(items)
  }

  /** `coming`: items that are about to start. */
  update(coming = 0): void {
    const { inFlight, resources } = this.#parts
    const loading = resources.waiting > 0 && resources.areLoading ? resources.waiting : 0
    const phase = phaseOf({
      stopping: this.#mode === 'draining' || this.#mode === 'stopped',
      ready: this.#isReady,
      paused: this.#isEverythingPaused || this.#mode === 'paused',
      backingOff: this.reason !== null,
      running: inFlight.running + coming - loading,
      loading,
    })
    this.phases.enter(phase)
  }

  get isTroubled(): boolean {
    return this.trouble !== null
  }

  reachedStore(session: string): void {
    this.trouble = null
    this.#parts.services.keeper.exchanged(session)
  }

  lostStore(session: string | null, error: unknown): void {
    this.trouble = `cannot reach the database: ${messageOf(error)}`
    if (session !== null) this.#parts.services.keeper.exchanged(session, error)
    this.problem('the exchange with the store failed', error)
    if (mustReopen(error)) this.giveUp(error)
  }

  /** Why it backs off. Null: it does not. */
  get reason(): string | null {
    const { resources } = this.#parts
    return this.trouble ?? (resources.isNothing ? null : resources.lack)
  }

  /** What an answer of the store says about the worker itself. */
  heard({ claims, refused, fenced = 0, paused, conflicts = 0 }: SourceAnswer, asked: boolean): void {
    const { counters } = this.stats
    if (asked) counters.discovery_attempts += 1
    counters.fenced_writes += refused.length + fenced
    counters.claim_conflicts += conflicts
    if (claims.length > 0) this.#isEverythingPaused = false
    else if (paused !== undefined) this.#isEverythingPaused = paused
    if (this.#isReady || this.#parts.resources.areUnknown) return
    // Before anything starts: a handler may block the event loop, and a load may take minutes, but the start of the worker is over.
    this.#isReady = true
    this.update()
  }

  /** An attempt ended and was this worker's to settle. */
  ran(attempt: Attempt, outcome: AttemptOutcome, ranMs: number): void {
    this.stats.ran(attempt, outcome, ranMs)
    if (attempt.trouble !== undefined) this.#resourceFailed(attempt.trouble)
    // The attempt is not charged for it.
    if (attempt.outage !== undefined)
      this.problem(`the store failed while ${attempt.item} ran`, attempt.outage)
  }

  /** What it cannot run has changed, or another session reports it. */
  hasNewUnavailable(session: string): boolean {
    const unavailable = this.#parts.resources.unavailable()
    const reported = this.#reported
    if (unavailable.length + reported.unavailable.length === 0 && this.#pause === reported.pause)
      return this.#pause !== null && session !== reported.session
    if (unavailable !== reported.unavailable || this.#pause !== reported.pause) return true
    return session !== reported.session
  }

  /** Stores what it cannot run, for people who ask why an item does not run. */
  async reportUnavailable(session: string): Promise<void> {
    const { resources, services } = this.#parts
    const unavailable = resources.unavailable()
    const pause = this.#pause
    await services.store.sessions.noteUnavailableResources(
      session,
      pause === null ? unavailable : [...unavailable, pause],
    )
    this.#reported = { session, unavailable, pause }
  }

  /** A run says that the worker is broken. After too many in a row, the worker believes it. */
  #resourceFailed(error: ResourceError): void {
    const { id: worker, resourceErrorLimit } = this.#parts.options
    const before = this.stats.counters.consecutive_errors
    const inRow = this.stats.broke(error)
    if (inRow === before) return
    this.problem('a resource error', error)
    if (inRow < resourceErrorLimit || this.failed !== null) return
    const failed = new ResourceError(`${worker} gave up after ${inRow} resource errors in a row`, error, {
      code: property(error, 'code') === 'RESOURCE_LOAD' ? 'RESOURCE_LOAD' : 'RESOURCE_ERRORS',
      hint: `The last one: ${messageOf(error)}`,
    })
    this.giveUp(failed)
  }

  giveUp(error: GleanerError): void {
    if (this.failed !== null) return
    const { options, services } = this.#parts
    this.failed = error
    services.emitter.emit('worker-failed', () => ({ worker: options.id, error }))
    this.#onFailed()
  }

  snapshot(): WorkerSnapshot {
    const { options, inFlight, resources } = this.#parts
    const { stats, phases, failed } = this
    return {
      id: options.id,
      phase: phases.phase,
      reason: this.reason,
      phaseSince: phases.since,
      current: inFlight.current(),
      counters: { ...stats.counters },
      averageMs: Number.isNaN(stats.averageMs) ? null : stats.averageMs,
      sources: stats.sources(),
      resources: resources.snapshot(),
      failed,
    }
  }

  problem(what: string, error: unknown): void {
    const { options, services } = this.#parts
    services.emitter.emit('problem', () => ({ message: `${options.id}: ${what}`, error }))
  }
}
