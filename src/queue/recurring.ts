import type { Clock } from '../clock.ts'
import type { NamedSchedule } from '../model/schedule.ts'
import type { Change } from '../store/ports/change.ts'
import type { NewTask } from '../store/ports/new-task.ts'
import type { Store } from '../store/ports/store.ts'
import { newTask } from './new-task.ts'
import type { TaskRegistry } from './registry.ts'

/** What recurs in this process's code: when, and the task that each occurrence enqueues. */
export interface Occurrences {
  schedules: readonly NamedSchedule[]
  tasks: readonly NewTask[]
}

/** Every input is checked: what could not be enqueued tonight is refused now. */
export async function occurrencesOf(registry: TaskRegistry, payloadLimit: number): Promise<Occurrences> {
  const schedules: NamedSchedule[] = []
  const tasks: NewTask[] = []
  for (const definition of registry.recurring()) {
    const { every, timezone, input } = definition.recurrence!
    schedules.push({ name: definition.name, every, timezone })
    tasks.push(await newTask(definition, input, undefined, payloadLimit))
  }
  return { schedules, tasks }
}

/** Other processes write all the time; a look for what they may have planned is needed once in a while. */
const CHANGES_MS = 1_000
const RETRY_MS = 1_000

export interface RecurringOptions {
  /** How long to rest at most, should nobody tell that something was planned anew. */
  restMs: number
  onEnqueued: (task: NewTask) => void
  onProblem: (message: string, error: unknown) => void
}

/** Enqueues what recurs, when it is due. Each process that works runs one; the store decides whose turn it is. */
export class Recurring {
  readonly #store: Pick<Store, 'admin' | 'onChange'>
  readonly #clock: Clock
  readonly #tasks: readonly NewTask[]
  readonly #options: RecurringOptions
  #unsubscribe: (() => void) | undefined
  #looking = false
  /** Something was planned during the look, which may not have seen it. */
  #lookAgain = false
  #lastLookMs = Number.NEGATIVE_INFINITY
  #wakeAtMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined
  #stopped = false
  /** The last look failed, and that was told. */
  #troubled = false

  constructor(
    store: Pick<Store, 'admin' | 'onChange'>,
    clock: Clock,
    { tasks }: Occurrences,
    options: RecurringOptions,
  ) {
    this.#store = store
    this.#clock = clock
    this.#tasks = tasks
    this.#options = options
  }

  /** Where nothing recurs, nothing is started. */
  start(): void {
    if (this.#tasks.length === 0 || this.#unsubscribe !== undefined) return
    this.#unsubscribe = this.#store.onChange((change) => this.#onChange(change), 'signals')
    this.#restFor(0)
  }

  stop(): void {
    this.#stopped = true
    this.#unsubscribe?.()
    this.#cancel?.()
  }

  #onChange(change: Change): void {
    if (change.kind === 'schedules' || (change.kind === 'elsewhere' && change.only === 'schedules')) {
      this.#lookAgain = this.#looking
      this.#restFor(0)
    } else if (change.kind === 'elsewhere' && change.only === undefined && change.task === undefined) {
      this.#restFor(this.#lastLookMs + CHANGES_MS - this.#clock.monotonicMs())
    }
  }

  /** Until then, or less if that was asked for before. */
  #restFor(ms: number): void {
    const now = this.#clock.monotonicMs()
    const wakeAtMs = now + Math.max(0, ms)
    if (this.#stopped || this.#looking || wakeAtMs >= this.#wakeAtMs) return
    this.#cancel?.()
    this.#wakeAtMs = wakeAtMs
    this.#cancel = this.#clock.after(wakeAtMs - now, () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#looking = true
    this.#lookAgain = false
    this.#lastLookMs = this.#clock.monotonicMs()
    const restMs = await this.#fire()
    this.#looking = false
    this.#wakeAtMs = Number.POSITIVE_INFINITY
    this.#restFor(this.#lookAgain ? 0 : restMs)
  }

  async #fire(): Promise<number> {
    try {
      const { fired, nextInMs } = await this.#store.admin.fireSchedules(this.#tasks)
      for (const { name } of fired) this.#options.onEnqueued(this.#tasks.find((task) => task.name === name)!)
      this.#troubled = false
      return Math.min(nextInMs ?? this.#options.restMs, this.#options.restMs)
    } catch (error) {
      if (!this.#stopped && !this.#troubled)
        this.#options.onProblem('could not enqueue scheduled tasks; the next pass retries', error)
      this.#troubled = true
      return RETRY_MS
    }
  }
}
