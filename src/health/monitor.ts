import { type Clock, systemClock } from '../clock.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { describeValue } from '../thrown.ts'
import { HealthHistory, type HistoryOptions, historySettings } from './history.ts'
import {
  COMPONENT_ID,
  type HealthChange,
  type HealthOwner,
  type HealthStatus,
  type SeenHealth,
} from './status.ts'

const OPTIONS = declareOptions<HealthMonitorOptions>('HealthMonitor', { interval: true, history: true })

/** What a monitor reports to `on`. */
export interface HealthEvents {
  /** A component was registered, or its status changed. */
  change: HealthChange
  /** An owner threw, gave no answer within an interval, or returned something that is not a status. */
  problem: { id: string; message: string; error: unknown }
}

/** What `new HealthMonitor` takes. */
export interface HealthMonitorOptions {
  /** How often the monitor asks the owners. Default 5 s. */
  interval?: Duration
  /** Where to keep what the monitor saw: a Gleaner, or one with options. Default: nowhere. */
  history?: HistoryOptions
}

interface Watched {
  owner: HealthOwner
  seen: SeenHealth
  /** Its owner has not answered the last question yet. */
  asking: boolean
}

type Listeners = { [E in keyof HealthEvents]: Set<(event: HealthEvents[E]) => void> }

const INTERVAL: Duration = '5s'
const INTERVAL_MIN_MS = 10
const SHOWN_MAX = 80
const COMPONENTS_MAX = 10_000
const STATUSES: readonly unknown[] = ['pending', 'healthy', 'unhealthy', 'failed'] satisfies HealthStatus[]

/**
 * Asks owners for the status of their components and remembers since when it holds. The monitor interprets nothing, starts and stops
 * nothing, reads no database and never waits for an owner.
 */
export class HealthMonitor {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #history: HealthHistory | undefined
  readonly #watched = new Map<string, Watched>()
  /** Their monitoring has ended. They stay in the snapshot. */
  readonly #failed = new Map<string, Watched>()
  readonly #listeners: Listeners = { change: new Set(), problem: new Set() }
  #cancel: (() => void) | undefined

  constructor(options: HealthMonitorOptions = {}, clock: Clock = systemClock) {
    refuseUnknown(options, OPTIONS, 'HealthMonitor')
    this.#clock = clock
    this.#intervalMs = durationMs(options.interval ?? INTERVAL, 'interval')
    if (this.#intervalMs < INTERVAL_MIN_MS)
      throw new InputError(`interval: ${this.#intervalMs} ms is too short`, {
        code: 'BAD_OPTION',
        hint: `Use at least ${INTERVAL_MIN_MS} ms, for example '5s'.`,
      })
    if (options.history === undefined) return
    const { target, snapshotMs } = historySettings(options.history)
    const source = { snapshot: () => this.snapshot(), itemOf: (id: string) => this.#itemOf(id) }
    this.#history = new HealthHistory(source, target, { clock, snapshotMs })
  }

  /** Monitors components of this owner from now on, also those that had failed before. An id that is known gets the new owner. */
  register(owner: HealthOwner, ids: string | readonly string[]): void {
    const checked = idsOf(ids)
    checkOwner(owner)
    if (new Set([...this.#watched.keys(), ...checked]).size > COMPONENTS_MAX)
      throw new InputError(`more than ${COMPONENTS_MAX} components`, {
        code: 'BAD_OPTION',
        hint: 'Unregister components that are gone, or use a second monitor.',
      })
    for (const id of checked) this.#watch(id, owner)
    this.#cancel ??= this.#next()
  }

  /** Ends the monitoring of a component, and forgets it. False: there was none with this id. */
  unregister(id: string): boolean {
    const known = this.#watched.delete(id)
    const failed = this.#failed.delete(id)
    if (known || failed) this.#history?.forget(id)
    return known || failed
  }

  /** The status of a component as last seen. Undefined: it is not registered. */
  status(id: string): HealthStatus | undefined {
    return this.#known(id)?.seen.status
  }

  /** All components, with those that failed. */
  snapshot(): SeenHealth[] {
    return [...this.#watched.values(), ...this.#failed.values()].map(({ seen }) => ({ ...seen }))
  }

  /** Calls the listener on each event. Returns a function that unsubscribes. */
  on<E extends keyof HealthEvents>(event: E, listener: (event: HealthEvents[E]) => void): () => void {
    const listeners = this.#listeners[event]
    if (listeners === undefined)
      throw new InputError(`a monitor has no event ${JSON.stringify(event)}`, {
        code: 'BAD_OPTION',
        hint: `There are: ${Object.keys(this.#listeners).join(', ')}.`,
      })
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  /** Ends the monitoring of all components. The history gets two seconds to write what it still holds. */
  async stop(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    const ids = this.snapshot().map(({ id }) => id)
    this.#watched.clear()
    this.#failed.clear()
    await this.#history?.stop(ids)
  }

  #watch(id: string, owner: HealthOwner): void {
    const { before, seen } = this.#successorOf(id)
    this.#failed.delete(id)
    const watched: Watched = { owner, seen, asking: false }
    this.#watched.set(id, watched)
    const status = this.#ask(watched)
    if (status !== undefined) watched.seen = this.#since(watched, status)
    if (watched.seen.status !== before) this.#tell(watched, before)
  }

  /** A component that is registered again keeps its history: only one that had failed, or is new, begins anew. */
  #successorOf(id: string): { before: HealthStatus | null; seen: SeenHealth } {
    const known = this.#watched.get(id)
    if (known !== undefined) return { before: known.seen.status, seen: known.seen }
    const failed = this.#failed.get(id)
    return {
      before: failed?.seen.status ?? null,
      seen: { id, status: 'pending', since: this.#clock.now() },
    }
  }

  #known(id: string): Watched | undefined {
    return this.#watched.get(id) ?? this.#failed.get(id)
  }

  #poll(): void {
    for (const watched of [...this.#watched.values()]) {
      // A listener may have unregistered it.
      if (!this.#watches(watched)) continue
      const status = this.#ask(watched)
      if (status !== undefined) this.#saw(watched, status)
    }
  }

  #next(): () => void {
    return this.#clock.afterIfAlive(this.#intervalMs, () => {
      this.#poll()
      // The next `register` starts it again.
      this.#cancel = this.#watched.size > 0 ? this.#next() : undefined
    })
  }

  /** Undefined: the answer comes later. */
  #ask(watched: Watched): HealthStatus | undefined {
    const { id } = watched.seen
    if (watched.asking) {
      this.#problem(id, `the owner of ${id} has not answered for ${this.#intervalMs} ms or more`, undefined)
      return 'unhealthy'
    }
    try {
      const answer: unknown = watched.owner.getStatus(id)
      if (!isThenable(answer)) return this.#checked(id, answer)
      this.#await(watched, answer)
      return undefined
    } catch (error) {
      return this.#threw(id, error)
    }
  }

  #await(watched: Watched, answer: PromiseLike<unknown>): void {
    const { id } = watched.seen
    watched.asking = true
    const answered = (status: HealthStatus) => {
      watched.asking = false
      if (this.#watches(watched)) this.#saw(watched, status)
    }
    Promise.resolve(answer).then(
      (status) => answered(this.#checked(id, status)),
      (error) => answered(this.#threw(id, error)),
    )
  }

  #watches(watched: Watched): boolean {
    return this.#watched.get(watched.seen.id) === watched
  }

  #saw(watched: Watched, status: HealthStatus): void {
    const before = watched.seen.status
    if (status === before) return
    watched.seen = this.#since(watched, status)
    this.#tell(watched, before)
  }

  #since({ seen }: Watched, status: HealthStatus): SeenHealth {
    return status === seen.status ? seen : { id: seen.id, status, since: this.#clock.now() }
  }

  #tell(watched: Watched, before: HealthStatus | null): void {
    const { seen } = watched
    if (seen.status === 'failed') {
      this.#watched.delete(seen.id)
      this.#failed.set(seen.id, watched)
    }
    const change = { ...seen, before }
    this.#history?.changed(change)
    this.#emit('change', change)
  }

  #checked(id: string, status: unknown): HealthStatus {
    if (STATUSES.includes(status)) return status as HealthStatus
    const message = `the owner of ${id} answered ${shown(status)}, which is not a status`
    this.#problem(id, message, undefined)
    return 'unhealthy'
  }

  #threw(id: string, error: unknown): HealthStatus {
    this.#problem(id, `the owner of ${id} threw an error`, error)
    return 'unhealthy'
  }

  #problem(id: string, message: string, error: unknown): void {
    this.#emit('problem', { id, message, error })
  }

  /** A listener that throws must end neither the monitoring nor the other listeners. */
  #emit<E extends keyof HealthEvents>(event: E, about: HealthEvents[E]): void {
    for (const listener of [...this.#listeners[event]]) {
      try {
        listener(about)
      } catch (error) {
        if (event === 'problem') continue
        this.#problem(about.id, `a listener for ${event} threw an error`, error)
      }
    }
  }

  #itemOf(id: string): string | null {
    try {
      const item: unknown = this.#known(id)?.owner.getCurrentItem?.(id)
      return typeof item === 'string' ? item : null
    } catch (error) {
      this.#problem(id, `the owner of ${id} threw an error when asked for its current item`, error)
      return null
    }
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, SHOWN_MAX)) : describeValue(value)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function idsOf(ids: unknown): readonly string[] {
  const list: readonly unknown[] = typeof ids === 'string' ? [ids] : Array.isArray(ids) ? ids : [ids]
  const wrong = list.findIndex((id) => typeof id !== 'string' || !COMPONENT_ID.test(id))
  if (list.length > 0 && wrong === -1) return list as readonly string[]
  throw new InputError(`${shown(list.length === 0 ? ids : list[wrong])} is not the id of a component`, {
    code: 'BAD_OPTION',
    hint: "Pass ids of letters, digits and _ . : / -, for example monitor.register(owner, ['cache:thumbnails']).",
  })
}

function checkOwner(owner: unknown): void {
  if (typeof (owner as HealthOwner | null | undefined)?.getStatus === 'function') return
  throw new InputError(`${describeValue(owner)} cannot own components`, {
    code: 'BAD_OPTION',
    hint: 'Pass an object with getStatus(id), first: monitor.register(owner, ids).',
  })
}
