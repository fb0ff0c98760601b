import type { Clock } from '../../clock.ts'
import type { ResourceDefinition } from '../../define/resource.ts'
import { Calls } from './calls.ts'
import { Holding, type Member } from './instance.ts'

/** The resources of a process: whoever asks for the same one shares it, also across engines. */
export class Pool {
  readonly calls = new Calls()
  readonly #clock: Clock
  readonly #holdings = new Map<ResourceDefinition, Holding>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(definition: ResourceDefinition, member: Member): Holding {
    const holding = this.#holdings.get(definition) ?? new Holding(definition, this.#clock, this.calls)
    this.#holdings.set(definition, holding)
    holding.join(member)
    return holding
  }

  async leave(holding: Holding, member: Member): Promise<void> {
    await holding.leave(member)
    if (holding.isUnused) this.#holdings.delete(holding.definition)
  }
}

const pools = new WeakMap<Clock, Pool>()

/** Who shares the time shares the resources: all engines of a process, but each test with a time of its own has its own. */
export function poolOn(clock: Clock): Pool {
  const pool = pools.get(clock) ?? new Pool(clock)
  pools.set(clock, pool)
  return pool
}
