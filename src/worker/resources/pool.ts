import type { Clock } from '../../clock.ts'
import type { ResourceDefinition } from '../../define/resource.ts'
import { Calls } from './calls.ts'
import { type Member, ResourceInstance } from './instance.ts'

/** The resources of a process: whoever asks for the same one shares it, also across engines. */
export class ResourcePool {
  readonly calls = new Calls()
  readonly #clock: Clock
  readonly #instances = new Map<ResourceDefinition, ResourceInstance>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(definition: ResourceDefinition, member: Member): ResourceInstance {
    const instance =
      this.#instances.get(definition) ?? new ResourceInstance(definition, this.#clock, this.calls)
    this.#instances.set(definition, instance)
    instance.join(member)
    return instance
  }

  async leave(instance: ResourceInstance, member: Member): Promise<void> {
    await instance.leave(member)
    if (instance.isUnused) this.#instances.delete(instance.definition)
  }
}

const pools = new WeakMap<Clock, ResourcePool>()

/** Who shares the time shares the resources: all engines of a process, but each test with a time of its own has its own. */
export function poolOn(clock: Clock): ResourcePool {
  const pool = pools.get(clock) ?? new ResourcePool(clock)
  pools.set(clock, pool)
  return pool
}
