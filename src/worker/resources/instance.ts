import type { Clock } from '../../clock.ts'
import type { ResourceDefinition } from '../../define/resource.ts'
import { ResourceError } from '../../errors.ts'
import { messageOf, property } from '../../thrown.ts'
import type { ResourceSnapshot } from '../state/snapshot.ts'
import { callWithin } from './call.ts'
import type { Calls } from './calls.ts'
import { availabilityOf } from './probe.ts'

/** A worker that may need the resource. */
export interface Member {
  /** It became available, or unavailable, or began or ended to load. */
  onChange(): void
  onProblem(message: string, error: unknown): void
}

/** Why, and until when, it is left alone. `error`: what a load failed with. */
interface Absence {
  reason: string
  /** By the wall clock. */
  until: number
  error: ResourceError
}

/** No reader needs longer ones. */
const REASON_MAX = 500
/** A probe that wants to be asked again at once would be asked all the time. */
const RETRY_MIN_MS = 10

/** A resource in this process: one instance, however many workers and runs share it. */
export class ResourceInstance {
  readonly definition: ResourceDefinition
  readonly #clock: Clock
  readonly #calls: Calls
  readonly #members = new Set<Member>()
  #users = 0
  /** While it counts as available without being asked. */
  #freshUntilMs = Number.NEGATIVE_INFINITY
  #absence: Absence | undefined
  #isAsking = false
  /** Something broke that used it: though it is loaded, it is asked about. */
  #isDoubted = false
  #loading: Promise<void> | undefined
  #instance: { value: unknown } | undefined
  #unloading: Promise<void> | undefined
  #cancelIdle = () => {}
  #cancelRetry = () => {}

  constructor(definition: ResourceDefinition, clock: Clock, calls: Calls) {
    this.definition = definition
    this.#clock = clock
    this.#calls = calls
  }

  get isUnused(): boolean {
    return this.#members.size === 0 && this.#users === 0
  }

  join(member: Member): void {
    this.#members.add(member)
  }

  /** The last one unloads it; if a run that nobody waits for still has it, or waits for it, its end does. */
  async leave(member: Member): Promise<void> {
    this.#members.delete(member)
    if (this.#members.size > 0) return
    this.#cancelRetry()
    this.#evictIfIdle()
    await this.#unloading
  }

  /** Whether what needs it may be claimed. If that is not known it is asked, and the members are told of the answer. */
  look(): 'available' | 'asked' | 'absent' {
    const { probe } = this.definition
    if (this.#isAsking) return this.#absence === undefined ? 'asked' : 'absent'
    if (this.#absence !== undefined) return 'absent'
    if (probe === undefined || this.#isKnown()) return 'available'
    void this.#ask(probe)
    return 'asked'
  }

  get absence(): Readonly<Absence> | undefined {
    return this.#absence
  }

  get isAsking(): boolean {
    return this.#isAsking
  }

  get isLoading(): boolean {
    return this.#loading !== undefined
  }

  /** For a run, which must `release` it. Those that ask while it is being loaded share that. */
  async use(): Promise<unknown> {
    if (this.#absence !== undefined) throw this.#absence.error
    this.#users += 1
    this.#cancelIdle()
    try {
      while (this.#instance === undefined) {
        if (this.#unloading !== undefined) await this.#unloading
        if (this.#loading === undefined) {
          this.#loading = this.#load()
          this.#changed()
        }
        await this.#loading
      }
      return this.#instance.value
    } catch (error) {
      this.#users -= 1
      throw error
    }
  }

  release(): void {
    this.#users -= 1
    if (this.#users > 0) return
    const { idleAfterMs } = this.definition
    if (this.#members.size === 0 || this.#absence !== undefined) this.#evictIfIdle()
    else if (idleAfterMs !== null) {
      this.#cancelIdle = this.#clock.afterIfAlive(idleAfterMs, () => this.#evictIfIdle())
    }
  }

  /** A run that used it says that the worker is broken: before the next one it is asked about. */
  doubt(): void {
    this.#isDoubted = true
    this.#freshUntilMs = Number.NEGATIVE_INFINITY
  }

  snapshot(): ResourceSnapshot {
    return {
      name: this.definition.name,
      state: this.#state(),
      users: this.#users,
      reason: this.#absence?.reason ?? null,
      until: this.#absence?.until ?? null,
    }
  }

  #state(): ResourceSnapshot['state'] {
    if (this.#absence !== undefined) return 'unavailable'
    if (this.#loading !== undefined) return 'loading'
    if (this.#unloading !== undefined) return 'unloading'
    return this.#instance === undefined ? 'unloaded' : 'loaded'
  }

  /** What is loaded is there; whether it could be loaded once more is no question. */
  #isKnown(): boolean {
    if (this.#instance !== undefined || this.#loading !== undefined) return !this.#isDoubted
    return this.#clock.monotonicMs() < this.#freshUntilMs
  }

  async #ask(probe: () => unknown): Promise<void> {
    const { name, retryAfterMs, probeEveryMs, probeTimeoutMs } = this.definition
    this.#isAsking = true
    try {
      const answer = await this.#calls.make(name, () => callWithin(this.#clock, probeTimeoutMs, probe))
      const availability = availabilityOf(name, answer, retryAfterMs)
      if (availability.available) this.#found(probeEveryMs)
      else this.#miss(availability.reason, availability.retryAfterMs)
    } catch (error) {
      const failure = this.#failure('RESOURCE_PROBE', 'could not be probed', error)
      this.#miss(messageOf(failure), retryAfterMs, failure)
      this.#problem(failure)
    }
    this.#isAsking = false
    this.#changed()
  }

  #found(forMs: number): void {
    this.#absence = undefined
    this.#isDoubted = false
    this.#freshUntilMs = this.#clock.monotonicMs() + forMs
  }

  /** Left alone for a while; what is loaded of it is of no use. */
  #miss(reason: string, forMs: number, error?: ResourceError): void {
    const why = reason.slice(0, REASON_MAX)
    const afterMs = Math.max(forMs, RETRY_MIN_MS)
    const absent = error ?? new ResourceError(`resource ${this.definition.name} is unavailable: ${why}`)
    this.#absence = { reason: why, until: this.#clock.now() + afterMs, error: absent }
    this.#cancelRetry()
    this.#evictIfIdle()
    if (this.#members.size === 0) return
    this.#cancelRetry = this.#clock.afterIfAlive(afterMs, () => this.#lookAgain())
  }

  /** Who cannot be asked is tried. */
  #lookAgain(): void {
    const { probe } = this.definition
    if (probe !== undefined) return void this.#ask(probe)
    this.#absence = undefined
    this.#changed()
  }

  async #load(): Promise<void> {
    const { name, load, loadTimeoutMs, retryAfterMs } = this.definition
    try {
      const late = (value: unknown) => void this.#dispose({ value })
      const value = await this.#calls.make(name, () => callWithin(this.#clock, loadTimeoutMs, load, late))
      if (value === undefined || value === null) throw new Error(`its load returned ${value}`)
      this.#instance = { value }
      this.#isDoubted = false
    } catch (error) {
      const failure = this.#failure('RESOURCE_LOAD', 'would not load', error)
      this.#miss(messageOf(failure), retryAfterMs, failure)
      throw failure
    } finally {
      this.#loading = undefined
      this.#changed()
    }
  }

  #evictIfIdle(): void {
    const instance = this.#instance
    if (instance === undefined || this.#users > 0) return
    this.#cancelIdle()
    this.#instance = undefined
    this.#unloading = this.#dispose(instance).finally(() => {
      this.#unloading = undefined
    })
  }

  async #dispose(instance: { value: unknown }): Promise<void> {
    const { name, unload, unloadTimeoutMs } = this.definition
    if (unload === undefined) return
    try {
      await this.#calls.make(name, () =>
        callWithin(this.#clock, unloadTimeoutMs, async () => unload(instance.value)),
      )
    } catch (error) {
      this.#problem(this.#failure('RESOURCE_UNLOAD', 'could not be unloaded', error))
    }
  }

  #failure(code: 'RESOURCE_PROBE' | 'RESOURCE_LOAD' | 'RESOURCE_UNLOAD', what: string, cause: unknown) {
    if (cause instanceof ResourceError && property(cause, 'code') === code) return cause
    return new ResourceError(`resource ${this.definition.name} ${what}: ${messageOf(cause)}`, cause, { code })
  }

  #changed(): void {
    for (const member of this.#members) member.onChange()
  }

  #problem(error: ResourceError): void {
    for (const member of this.#members) member.onProblem('a resource failed', error)
  }
}
