import type { Clock } from '../../clock.ts'
import type { ResourceDefinition, Uses } from '../../define/resource.ts'
import type { Holdup } from '../../model/holdup.ts'
import type { Execution } from '../attempt.ts'
import type { ResourceSnapshot } from '../state/snapshot.ts'
import type { Holding, Member } from './instance.ts'
import { type Pool, poolOn } from './pool.ts'

const NONE: readonly string[] = []

/** The resources that items of a task or a discovery need. */
interface NeededBy {
  name: string
  uses: Uses
  isExpected: boolean
}

/** The resources that a worker's items need: which of them may be claimed, and what their runs are given. */
export class Needs {
  readonly #clock: Clock
  readonly #member: Member
  readonly #pool: Pool
  readonly #holdings = new Map<ResourceDefinition, Holding>()
  /** The names of tasks and discoveries that need it. */
  readonly #neededBy = new Map<Holding, Set<string>>()
  /** Those that an item needs which the worker is there for. */
  readonly #expected = new Set<Holding>()
  readonly #taken = new Map<Execution, Holding[]>()
  /** Runs that wait for something to be loaded. */
  waiting = 0
  #without = NONE
  #absences: readonly unknown[] = []
  #holdups: readonly Holdup[] = []

  /** `isExpected`: whether a worker that cannot run items of this name is unhealthy. */
  constructor(clock: Clock, uses: Iterable<NeededBy>, member: Member) {
    this.#clock = clock
    this.#member = member
    this.#pool = poolOn(clock)
    for (const { name, uses: used, isExpected } of uses)
      for (const definition of used.values()) {
        const holding = this.#held(definition)
        this.#neededBy.get(holding)!.add(name)
        if (isExpected) this.#expected.add(holding)
      }
  }

  #held(definition: ResourceDefinition): Holding {
    const known = this.#holdings.get(definition)
    if (known !== undefined) return known
    const holding = this.#pool.join(definition, this.#member)
    this.#holdings.set(definition, holding)
    this.#neededBy.set(holding, new Set())
    return holding
  }

  get isNothing(): boolean {
    return this.#holdings.size === 0
  }

  /** What may not be claimed now, because something it needs is not there, or not known to be. The same array while that stays so. */
  without(): readonly string[] {
    if (this.isNothing) return NONE
    const names = new Set<string>()
    for (const [holding, needing] of this.#neededBy)
      if (holding.look() !== 'available') for (const name of needing) names.add(name)
    if (!isSame([...names], this.#without)) this.#without = names.size === 0 ? NONE : [...names]
    return this.#without
  }

  /** Something was asked, and may be there. */
  get areAsking(): boolean {
    return this.#any((holding) => holding.isAsking && holding.absence === undefined)
  }

  /** Of those that decide on the worker's health, it is not known yet whether they are there. */
  get areUnknown(): boolean {
    for (const holding of this.#expected) if (holding.isAsking && holding.absence === undefined) return true
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
    return this.#any((holding) => holding.isLoading)
  }

  /** What is held up by what, and until when. The same array while that stays so. */
  holdups(): readonly Holdup[] {
    if (this.isNothing) return this.#holdups
    const absences = [...this.#neededBy.keys()].map((holding) => holding.absence)
    if (isSame(absences, this.#absences)) return this.#holdups
    this.#absences = absences
    this.#holdups = [...this.#neededBy].flatMap(([holding, needing]) => holdup(holding, needing))
    return this.#holdups
  }

  /** Waits until everything is loaded, and holds it until `release`. The run's own time begins then. */
  async equip(execution: Execution, uses: Uses): Promise<void> {
    this.waiting += 1
    try {
      execution.context.use = await this.#take(uses, execution)
    } finally {
      this.waiting -= 1
    }
    execution.startedMs = this.#clock.monotonicMs()
    execution.deadlineMs = execution.startedMs + execution.timeoutMs
  }

  async #take(uses: Uses, execution: Execution): Promise<Record<string, unknown>> {
    const { signal } = execution.context
    signal.throwIfAborted()
    const holdings = [...uses.values()].map((definition) => this.#holdings.get(definition)!)
    const taking = holdings.map((holding) => holding.use())
    try {
      const values = await unlessAborted(Promise.all(taking), signal)
      this.#taken.set(execution, holdings)
      return Object.freeze(Object.fromEntries([...uses.keys()].map((key, n) => [key, values[n]])))
    } catch (error) {
      // Those that were, or will be, loaded all the same are of no use to it.
      for (const [n, one] of taking.entries()) {
        one.then(
          () => holdings[n]!.release(),
          () => {},
        )
      }
      throw error
    }
  }

  /** `broken`: the run says that something it used is. */
  release(execution: Execution, broken: boolean): void {
    for (const holding of this.#taken.get(execution) ?? []) {
      if (broken) holding.doubt()
      holding.release()
    }
    this.#taken.delete(execution)
  }

  async leave(): Promise<void> {
    const leaving = [...this.#holdings.values()].map((holding) => this.#pool.leave(holding, this.#member))
    await Promise.all(leaving)
  }

  snapshot(): ResourceSnapshot[] {
    return [...this.#holdings.values()].map((holding) => holding.snapshot())
  }

  #any(is: (holding: Holding) => boolean): boolean {
    for (const holding of this.#holdings.values()) if (is(holding)) return true
    return false
  }
}

function holdup({ absence, definition }: Holding, needing: ReadonlySet<string>): Holdup[] {
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
