import { type Discovery, type DiscoveryDefinition, discoveryOf } from '../define/discovery.ts'
import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import { CRASH_LIMIT } from '../model/session.ts'
import type { DiscoverySource } from '../store/ports/rows.ts'

/** The discoveries this process has code for, by name. */
export class DiscoveryRegistry {
  readonly #definitions = new Map<string, DiscoveryDefinition>()

  constructor(discoveries: readonly Discovery[]) {
    for (const discovery of discoveries) {
      const definition = discoveryOf(discovery)
      if (this.#definitions.has(definition.name)) {
        throw new InputError(`two discoveries are called ${definition.name}`, {
          code: 'BAD_DEFINITION',
          hint: 'Give each discovery a name of its own.',
        })
      }
      this.#definitions.set(definition.name, definition)
    }
  }

  get names(): string[] {
    return [...this.#definitions.keys()]
  }

  /** Those that can be worked on here. */
  get runnable(): string[] {
    return this.names.filter((name) => this.#definitions.get(name)?.run !== undefined)
  }

  get(name: string): DiscoveryDefinition | undefined {
    return this.#definitions.get(name)
  }

  /** Those that a worker is to serve. */
  pick(names: readonly string[]): Map<string, DiscoveryDefinition> {
    return new Map(names.map((name) => [name, this.#known(name)]))
  }

  /** Those that something else works on than code of this process. */
  pickWithoutRun(names: readonly string[]): Map<string, DiscoveryDefinition> {
    return new Map(names.map((name) => [name, this.#definitions.get(name) ?? this.#known(name)]))
  }

  /** As the store is told of them. */
  sources(): DiscoverySource[] {
    return [...this.#definitions.values()].map(({ name, table, key, where, version, orderBy, retry }) => ({
      name,
      table,
      key,
      where,
      version,
      orderBy,
      maxAttempts: retry.attempts,
      crashLimit: CRASH_LIMIT,
    }))
  }

  #known(name: string): DiscoveryDefinition {
    const definition = this.#definitions.get(name)
    if (definition?.run !== undefined) return definition
    if (definition !== undefined) {
      throw new InputError(`discovery ${shown(name)} has no run here`, {
        code: 'BAD_DEFINITION',
        hint: 'Give it one, or let a pool with a command work on it.',
      })
    }
    throw new InputError(`discovery ${shown(name)} is unknown here`, {
      code: 'UNKNOWN_DISCOVERY',
      hint: `Add it to openGleaner({ discoveries: [… ] }); known: ${this.names.join(', ') || 'none'}.`,
    })
  }
}
