import { definitionOf, type TaskDefinition } from '../define/task.ts'
import type { Task } from '../define/types.ts'
import { InputError } from '../errors.ts'
import type { PlannedLimit } from '../model/limit.ts'
import type { Strategy } from '../model/queue.ts'

/** The tasks this process knows, by name. */
export class TaskRegistry {
  readonly #definitions = new Map<string, TaskDefinition>()
  /** As they were given. */
  readonly tasks: readonly Task[]

  constructor(tasks: readonly Task[]) {
    this.tasks = tasks
    for (const task of tasks) {
      const definition = definitionOf(task)
      if (this.#definitions.has(definition.name)) {
        throw new InputError(`two tasks are called ${definition.name}`, {
          code: 'BAD_DEFINITION',
          hint: 'Give each task a name of its own. If `run` is implemented elsewhere, list only what implement() returned.',
        })
      }
      this.#definitions.set(definition.name, definition)
    }
  }

  /** The registered definition: it may have the code that the one at hand was defined without. */
  of(task: Task): TaskDefinition {
    const { name } = definitionOf(task)
    const definition = this.#definitions.get(name)
    if (definition !== undefined) return definition
    throw new InputError(`task ${name} is unknown here`, {
      code: 'UNKNOWN_TASK',
      hint: `Add it to openGleaner({ tasks: [… ] }); known: ${[...this.#definitions.keys()].join(', ') || 'none'}.`,
    })
  }

  get(name: string): TaskDefinition | undefined {
    return this.#definitions.get(name)
  }

  /** All of them, also those that have no `run` here. */
  all(): TaskDefinition[] {
    return [...this.#definitions.values()]
  }

  /** The tasks that can run here. */
  runnable(): TaskDefinition[] {
    return [...this.#definitions.values()].filter((definition) => definition.run !== undefined)
  }

  /** The tasks that recur. */
  recurring(): TaskDefinition[] {
    return [...this.#definitions.values()].filter((definition) => definition.recurrence !== null)
  }

  /** The limits of these tasks' keys; null for those that have none. */
  limits(): PlannedLimit[] {
    return [...this.#definitions.values()].map(({ name, limit }) => ({
      task: name,
      limit: limit?.limit ?? null,
    }))
  }

  /** Of these tasks, the orders that they have of their own. */
  strategies(names: readonly string[]): ReadonlyMap<string, Strategy> {
    const own = names.map((name) => [name, this.#definitions.get(name)?.strategy ?? null] as const)
    return new Map(own.flatMap(([name, strategy]) => (strategy === null ? [] : [[name, strategy]])))
  }

  /** The queues that these tasks go to unless an enqueue says otherwise. */
  queues(): string[] {
    return [...new Set(['default', ...[...this.#definitions.values()].map((definition) => definition.queue)])]
  }
}
