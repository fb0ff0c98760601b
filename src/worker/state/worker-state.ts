import type { Clock } from '../../clock.ts'
import { type GleanerError, ResourceError } from '../../errors.ts'
import { type Holdup, pauseHoldup } from '../../model/holdup.ts'
import type { Store } from '../../store/contract.ts'
import { messageOf, property } from '../../thrown.ts'
import type { Emitter } from '../events.ts'
import type { InFlight } from '../in-flight.ts'
import { ResourceTracker } from '../resources/tracker.ts'
import type { Source, SourceAnswer } from '../sources/source.ts'
import { Phases, phaseOf } from './phases.ts'
import type { WorkerSnapshot } from './snapshot.ts'
import { WorkerStats } from './stats.ts'

interface WorkerStateOptions {
  /** Of the worker. */
  id: string
  sources: readonly Source[]
  /** Resource errors in a row after which it gives up. */
  resourceErrorLimit: number
  clock: Clock
  emitter: Emitter
  inFlight: () => Pick<InFlight, 'running' | 'current'>
  /** A resource is there, or not any more. */
  onChange: () => void
  onFailed: () => void
}

/** How a worker is: its phase, its counters, what it lacks, and why it gave up. */
export class WorkerState {
  readonly stats = new WorkerStats()
  readonly resources: ResourceTracker
  readonly phases: Phases
  readonly #options: WorkerStateOptions
  #told: { session: string; holdups: readonly Holdup[]; pause: Holdup | null } = {
    session: '',
    holdups: [],
    pause: null,
  }
  #isReady = false
  #state: 'working' | 'paused' | 'draining' = 'working'
  /** Why it is paused. */
  #pause: Holdup | null = null
  #isEverythingPaused = false
  /** The last exchange with the store failed. */
  trouble: string | null = null
  failed: GleanerError | null = null

  constructor(options: WorkerStateOptions) {
    this.#options = options
    const { clock, sources, onChange } = options
    const uses = sources.flatMap((source) =>
      source.uses().map(([name, used]) => ({ name, uses: used, isExpected: source.expects(name) })),
    )
    this.phases = new Phases(clock, (error) => this.problem('a listener of onPhase threw', error))
    this.resources = new ResourceTracker(clock, uses, {
      onChange: () => {
        this.update()
        onChange()
      },
      onProblem: (message, error) => this.problem(message, error),
    })
  }

  /** A handler that blocks the event loop at once is to be seen at work; who needs a resource begins with a wait. */
  begins(items: number): void {
    if (this.resources.isNothing) this.update(items)
  }

  /** `coming`: items that are about to be started. */
  update(coming = 0): void {
    const { resources } = this
    const held = this.#options.inFlight().running + coming
    const loading = resources.areLoading ? resources.waiting : 0
    const phase = phaseOf({
      stopping: this.#state === 'draining',
      ready: this.#isReady,
      paused: this.#isEverythingPaused || this.#state === 'paused',
      backingOff: this.reason !== null,
      running: held - loading,
      loading,
    })
    this.phases.enter(phase)
  }

  get isTroubled(): boolean {
    return this.trouble !== null
  }

  troubledBy(error: unknown): void {
    this.trouble = `cannot reach the database: ${messageOf(error)}`
  }

  /** Why it backs off; null: it does not. */
  get reason(): string | null {
    return this.trouble ?? (this.resources.isNothing ? null : this.resources.lack)
  }

  /** What the worker was told to do; `pauseReason`: why it is paused. */
  told(state: 'working' | 'paused' | 'draining', pauseReason?: string): void {
    this.#state = state
    if (pauseReason === undefined) this.#pause = null
    else if (this.#pause?.reason !== pauseReason) this.#pause = pauseHoldup(pauseReason)
    this.update()
  }

  /** What the store's answer says of the worker itself. */
  heard({ claims, refused, fenced = 0, paused, conflicts = 0 }: SourceAnswer, asked: boolean): void {
    const { counters } = this.stats
    if (asked) counters.discovery_attempts += 1
    counters.fenced_writes += refused.length + fenced
    counters.claim_conflicts += conflicts
    if (claims.length > 0) this.#isEverythingPaused = false
    else if (paused !== undefined) this.#isEverythingPaused = paused
    if (this.#isReady || this.resources.areUnknown) return
    // Said before anything is begun, be it a handler that blocks the event loop, or a load that takes minutes: its start is over.
    this.#isReady = true
    this.update()
  }

  /** For those who ask why something does not run. Only at changes is anything written. */
  async tellHoldups(store: Store, session: string): Promise<void> {
    const holdups = this.resources.holdups()
    const pause = this.#pause
    await store.noteHoldups(session, pause === null ? holdups : [...holdups, pause])
    this.#told = { session, holdups, pause }
  }

  hasNewHoldups(session: string): boolean {
    const holdups = this.resources.holdups()
    const told = this.#told
    if (holdups.length + told.holdups.length === 0 && this.#pause === told.pause)
      return this.#pause !== null && session !== told.session
    if (holdups !== told.holdups || this.#pause !== told.pause) return true
    return session !== told.session
  }

  /** A run says that the worker is broken; who hears that too often in a row believes it. */
  readonly broke = (error: ResourceError): void => {
    const { id: worker, resourceErrorLimit } = this.#options
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
    const { id: worker, emitter, onFailed } = this.#options
    this.failed = error
    emitter.emit('worker-failed', () => ({ worker, error }))
    onFailed()
  }

  snapshot(): WorkerSnapshot {
    const { stats, phases, resources, failed } = this
    return {
      id: this.#options.id,
      phase: phases.phase,
      reason: this.reason,
      phaseSince: phases.since,
      current: this.#options.inFlight().current(),
      counters: { ...stats.counters },
      averageMs: Number.isNaN(stats.averageMs) ? null : stats.averageMs,
      sources: stats.sources(),
      resources: resources.snapshot(),
      failed,
    }
  }

  /** Under a handler, which is not charged for it. */
  storeFailed({ item, outage }: { item: string; outage: unknown }): void {
    this.problem(`the store failed while ${item} ran`, outage)
  }

  problem(what: string, error: unknown): void {
    const { emitter, id } = this.#options
    emitter.emit('problem', () => ({ message: `${id}: ${what}`, error }))
  }
}
