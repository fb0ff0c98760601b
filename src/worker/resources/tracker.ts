import type { Clock } from '../../clock.ts'
import type { ResourceDefinition, Uses } from '../../define/resource.ts'
import type { UnavailableResource } from '../../model/unavailable-resource.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Source } from '../attempt/source.ts'
import type { ResourceSnapshot } from '../state/snapshot.ts'
import type { Member, ResourceInstance } from './instance.ts'
import { poolOn, type ResourcePool } from './pool.ts'

const NONE: readonly string[] = []

/** The worker that needs the resources. */
interface TrackedWorker {
  options: { readonly sources: readonly Source[] }
  services: { readonly clock: Clock }
  state: { update(): void; problem(what: string, error: unknown): void }
  polling: { nudge(): void }
}

/** What can a worker not run now, for want of a resource? It also gives each attempt the resources that it needs. */
export class ResourceTracker {
  readonly #clock: Clock
  readonly #member: Member
  readonly #pool: ResourcePool
  readonly #instances = new Map<ResourceDefinition, ResourceInstance>()
  /** The names of tasks and discoveries that need it. */
  readonly #neededBy = new Map<ResourceInstance, Set<string>>()
  /** Those that an item needs which the worker is there for. */
  readonly #expected = new Set<ResourceInstance>()
  readonly #taken = new Map<Attempt, ResourceInstance[]>()
  /** Runs that wait for something to be loaded. */
  waiting = 0
  #without = NONE
  #absences: readonly unknown[] = []
  #unavailable: readonly UnavailableResource[] = []

  constructor(worker: TrackedWorker) {
    const { options, services } = worker
    this.#clock = services.clock
    this.#pool = poolOn(services.clock)
    this.#member = {
      onChange: () => {
        worker.state.update()
        worker.polling.nudge()
      },
      onProblem: (message, error) => worker.state.problem(message, error),
    }
    for (const source of options.sources)
      for (const [name, uses] of source.uses())
        for (const definition of uses.values()) {
          const instance = this.#instanceOf(definition)
          this.#neededBy.get(instance)!.add(name)
          // A worker that cannot run items of this name is unhealthy.
          if (source.expects(name)) this.#expected.add(instance)
        }
  }

  #instanceOf(definition: ResourceDefinition): ResourceInstance {
    const known = this.#instances.get(definition)
    if (known !== undefined) return known
    const instance = this.#pool.join(definition, this.#member)
    this.#instances.set(definition, instance)
    this.#neededBy.set(instance, new Set())
    return instance
  }

  get isNothing(): boolean {
    return this.#instances.size === 0
  }

  /** What may not be claimed now, because something it needs is not there, or not known to be. The same array while that stays so. */
  without(): readonly string[] {
    if (this.isNothing) return NONE
    const names = new Set<string>()
    for (const [instance, needing] of this.#neededBy)
      if (instance.look() !== 'available') for (const name of needing) names.add(name)
    if (!isSame([...names], this.#without)) this.#without = names.size === 0 ? NONE : [...names]
    return this.#without
  }

  /** Something was asked, and may be there. */
  get areAsking(): boolean {
    return this.#any((instance) => instance.isAsking && instance.absence === undefined)
  }

  /** Of those that decide on the worker's health, it is not known yet whether they are there. */
  get areUnknown(): boolean {
    for (const instance of this.#expected)
      if (instance.isAsking && instance.absence === undefined) return true
    return false
  }

  /** Why the worker is unhealthy: what it waits for; null: nothing. Other resources only hold up their own items. */
  get lack(): string | null {
    const lacking = [...this.#expected].flatMap(({ absence, definition }) =>
      absence === undefined ? [] : [`${definition.name}: ${absence.reason}`],
    )
    return lacking.length === 0 ? null : `waits for ${lacking.join('; ')}`
  }

  get areLoading(): boolean {
    return this.#any((instance) => instance.isLoading)
  }

  /** What is held up by what, and until when. The same array while that stays so. */
  unavailable(): readonly UnavailableResource[] {
    if (this.isNothing) return this.#unavailable
    const absences = [...this.#neededBy.keys()].map((instance) => instance.absence)
    if (isSame(absences, this.#absences)) return this.#unavailable
    this.#absences = absences
    this.#unavailable = [...this.#neededBy].flatMap(([instance, needing]) => unavailableOf(instance, needing))
    return this.#unavailable
  }

  /** Waits until everything is loaded, and holds it until `release`. The run's own time begins then. */
  async acquire(attempt: Attempt, uses: Uses): Promise<void> {
    this.waiting += 1
    try {
      attempt.context.use = await this.#take(uses, attempt)
    } finally {
      this.waiting -= 1
    }
    attempt.startedMs = this.#clock.monotonicMs()
  }

  async #take(uses: Uses, attempt: Attempt): Promise<Record<string, unknown>> {
    const { signal } = attempt.context
    signal.throwIfAborted()
    const instances = [...uses.values()].map((definition) => this.#instances.get(definition)!)
    const taking = instances.map((instance) => instance.use())
    try {
      const values = await unlessAborted(Promise.all(taking), signal)
      this.#taken.set(attempt, instances)
      return Object.freeze(Object.fromEntries([...uses.keys()].map((key, n) => [key, values[n]])))
    } catch (error) {
      // Those that were, or will be, loaded all the same are of no use to it.
      for (const [n, one] of taking.entries()) {
        one.then(
          () => instances[n]!.release(),
          () => {},
        )
      }
      throw error
    }
  }

  /** `broken`: the run says that something it used is. */
  release(attempt: Attempt, broken: boolean): void {
    for (const instance of this.#taken.get(attempt) ?? []) {
      if (broken) instance.doubt()
      instance.release()
    }
    this.#taken.delete(attempt)
  }

  async leave(): Promise<void> {
    const leaving = [...this.#instances.values()].map((instance) => this.#pool.leave(instance, this.#member))
    await Promise.all(leaving)
  }

  snapshot(): ResourceSnapshot[] {
    return [...this.#instances.values()].map((instance) => instance.snapshot())
  }

  #any(is: (instance: ResourceInstance) => boolean): boolean {
    for (const instance of this.#instances.values()) if (is(instance)) return true
    return false
  }
}

function unavailableOf(
  { absence, definition }: ResourceInstance,
  needing: ReadonlySet<string>,
): UnavailableResource[] {
  if (absence === undefined) return []
  return [{ resource: definition.name, reason: absence.reason, until: absence.until, holds: [...needing] }]
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, n) => one === b[n])
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
