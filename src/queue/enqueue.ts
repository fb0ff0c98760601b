import type { BatchEntry } from '../define/batch-entry.ts'
import { shown } from '../define/names.ts'
import type { TaskDefinition } from '../define/task.ts'
import type { EnqueueManyOptions, EnqueueOptions, Handle, SendSignal, Task } from '../define/types.ts'
import { InputError, StoreError } from '../errors.ts'
import { readExactly } from '../exact-json.ts'
import type { Meter } from '../observe/meter.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { Enqueued, NewTask } from '../store/ports/new-task.ts'
import { type HandleServices, readResult, TaskHandle } from './handle.ts'
import { newTask } from './new-task.ts'
import type { TaskRegistry } from './registry.ts'
import { sendSignalWithin } from './signals.ts'

/** Tasks that are checked before the event loop gets its turn. */
const CHECKED_AT_ONCE = 1_000
/**
 * Tasks of one durable commit. It costs a sync, and in a weighted queue those of one commit lie in the order in which
 * they will be drawn; but everybody else waits for it, some 20 ms.
 */
const CHUNK = 5_000

/** They make another task of it, or let it wait for others. */
const NOT_IN_BATCH = ['after', 'onFailure', 'whenHeld', 'debounce', 'maxWait', 'throttle'] as const

interface EnqueuerOptions {
  registry: TaskRegistry
  handles: HandleServices
  payloadLimit: number
  /** The largest payload of a signal. */
  stepBytes: number
  meter: Meter
  tracing?: Tracing
}

/** From a task and its input to a row that is safe on disk. */
export class Enqueuer {
  readonly #registry: TaskRegistry
  readonly #handles: HandleServices
  readonly #payloadLimit: number
  readonly #stepBytes: number
  readonly #meter: Meter
  readonly #tracing: Tracing | undefined

  constructor({ registry, handles, payloadLimit, stepBytes, meter, tracing }: EnqueuerOptions) {
    this.#registry = registry
    this.#handles = handles
    this.#payloadLimit = payloadLimit
    this.#stepBytes = stepBytes
    this.#meter = meter
    this.#tracing = tracing
  }

  async enqueue(task: Task, input?: unknown, options?: EnqueueOptions): Promise<Handle<any>> {
    const definition = this.#registry.of(task)
    const checked = newTask(definition, input, options, this.#payloadLimit)
    const tasks = [checked instanceof Promise ? await checked : checked]
    const stored = await this.#stored(tasks).catch((error) => {
      throw perhapsStored('the task', error)
    })
    return this.#handle(definition, this.#counted(tasks, stored)[0]!)
  }

  async enqueueMany<I>(
    task: Task<I>,
    inputs: readonly I[],
    options: EnqueueManyOptions<I> = {},
  ): Promise<Handle<any>[]> {
    const definition = this.#registry.of(task)
    const { atomic, key, ...each } = options
    if (key !== undefined && typeof key !== 'function') {
      throw new InputError('enqueueMany: key must be a function', {
        code: 'BAD_KEY',
        hint: 'One key for all would enqueue one task; give (input) => key.',
      })
    }
    // Everything is checked before anything is written.
    const tasks = await this.#checkAll(definition, inputs, each, key)
    const chunks = atomic
      ? [tasks]
      : Array.from({ length: Math.ceil(tasks.length / CHUNK) }, (_, i) =>
          tasks.slice(i * CHUNK, (i + 1) * CHUNK),
        )
    const handles: Handle<any>[] = []
    for (const chunk of chunks) {
      const answers = await this.#stored(chunk).catch((error) => {
        throw stoppedAt(handles.length, tasks.length, perhapsStored('the tasks', error))
      })
      for (const answer of this.#counted(chunk, answers)) handles.push(this.#handle(definition, answer))
    }
    return handles
  }

  /** Children of a run: checked, and stored by the caller. */
  async spawn<T extends { created: number }>(
    task: Task,
    inputs: readonly unknown[],
    options: EnqueueOptions,
    store: (tasks: readonly NewTask[]) => Promise<T>,
  ): Promise<T> {
    const definition = this.#registry.of(task)
    const tasks = await this.#checkAll(definition, inputs, options, undefined)
    const answer = await this.#storedBy(tasks, store)
    if (answer.created > 0) this.#meter.enqueued(tasks[0]!, answer.created)
    return answer
  }

  async checked(task: Task, input: unknown, options?: EnqueueOptions): Promise<NewTask> {
    return newTask(this.#registry.of(task), input, options, this.#payloadLimit)
  }

  /** The tasks of a batch: each has a definition, an input and options of its own. */
  async checkEntries(entries: readonly BatchEntry[]): Promise<NewTask[]> {
    const tasks: NewTask[] = []
    for (const [position, entry] of entries.entries()) {
      try {
        tasks.push(await this.#checkedEntry(entry))
      } catch (error) {
        throw atPosition('batch', position, error)
      }
      if (position % CHECKED_AT_ONCE === CHECKED_AT_ONCE - 1) await new Promise(setImmediate)
    }
    return tasks
  }

  #checkedEntry(entry: BatchEntry): Promise<NewTask> {
    if (!Array.isArray(entry))
      throw new InputError(`${shown(entry)} is not an entry`, {
        code: 'BAD_OPTION',
        hint: 'Pass [task, input].',
      })
    const [task, input, options] = entry
    const other = NOT_IN_BATCH.find((name) => (options as EnqueueOptions | undefined)?.[name] !== undefined)
    if (other !== undefined)
      throw new InputError(`a task of a batch has no option ${other}`, {
        code: 'BAD_OPTION',
        hint: 'Leave it out.',
      })
    return this.checked(task, input, options)
  }

  countEach(tasks: readonly NewTask[]): void {
    for (const [, alike] of Map.groupBy(tasks, ({ queue, name }) => `${queue}/${name}`))
      this.#meter.enqueued(alike[0]!, alike.length)
  }

  /** The value of a stored result, checked by the `output` of its definition. */
  readResult(task: Task, result: string | null): unknown {
    return readResult(this.#registry.of(task), result === null ? null : readExactly(result))
  }

  async #storedBy<T extends { created: number }>(
    tasks: readonly NewTask[],
    store: (tasks: readonly NewTask[]) => Promise<T>,
  ): Promise<T> {
    if (this.#tracing === undefined) return store(tasks)
    let answer: T | undefined
    await this.#tracing.enqueue(tasks, async (traced) => {
      answer = await store(traced)
      return []
    })
    return answer!
  }

  /** Takes part in a transaction of the user's own. */
  within(transaction: unknown): {
    enqueue: (task: Task, input?: unknown, options?: EnqueueOptions) => any
    signal: (...signal: Parameters<SendSignal>) => any
  } {
    const within = this.#handles.store.tasks.within(transaction)
    return {
      signal: (...signal) => sendSignalWithin(within, this.#stepBytes, signal),
      enqueue: (task, input, options) => {
        const definition = this.#registry.of(task)
        const checked = newTask(definition, input, options, this.#payloadLimit)
        if (checked instanceof Promise) throw asynchronousSchema(definition, checked)
        const stored = (tasks: readonly NewTask[]) => within.enqueue(tasks)
        const answers = this.#tracing?.enqueue([checked], stored) ?? stored([checked])
        const handleOf = (enqueued: Enqueued[]) =>
          this.#handle(definition, this.#counted([checked], enqueued)[0]!)
        return answers instanceof Promise ? answers.then(handleOf) : handleOf(answers)
      },
    }
  }

  #stored(tasks: readonly NewTask[]): Promise<Enqueued[]> {
    const { store } = this.#handles
    if (this.#tracing === undefined) return store.tasks.enqueue(tasks)
    return this.#tracing.enqueue(tasks, (traced) => store.tasks.enqueue(traced))
  }

  async #checkAll<I>(
    definition: TaskDefinition,
    inputs: readonly I[],
    options: EnqueueOptions,
    keyOf: ((input: I) => string) | undefined,
  ): Promise<NewTask[]> {
    const shared = Object.keys(options).length === 0 ? undefined : options
    const tasks: NewTask[] = []
    for (const [position, input] of inputs.entries()) {
      const own = keyOf === undefined ? shared : { ...options, key: keyOf(input) }
      try {
        const checked = newTask(definition, input, own, this.#payloadLimit)
        tasks.push(checked instanceof Promise ? await checked : checked)
      } catch (error) {
        throw atPosition('enqueueMany', position, error)
      }
      if (position % CHECKED_AT_ONCE === CHECKED_AT_ONCE - 1) await new Promise(setImmediate)
    }
    return tasks
  }

  /** Of one name in one queue. What a user's own transaction takes back later is counted, too. */
  #counted([task]: readonly NewTask[], answers: Enqueued[]): Enqueued[] {
    let created = 0
    for (const answer of answers) if (answer.created) created += 1
    if (task !== undefined) this.#meter.enqueued(task, created)
    return answers
  }

  #handle(definition: TaskDefinition, { id, created }: Enqueued): Handle<any> {
    return new TaskHandle(id, created, definition, this.#handles)
  }
}

function atPosition(what: string, position: number, error: unknown): unknown {
  if (!(error instanceof InputError)) return error
  const { code, issues, hint } = error
  return new InputError(`${what}: number ${position}: ${error.message}`, {
    code,
    hint,
    issues: issues.map(({ path, message }) => ({
      path: path === '' ? `${position}` : `${position}.${path}`,
      message,
    })),
    cause: error,
  })
}

function stoppedAt(done: number, all: number, cause: unknown): unknown {
  if (done === 0 || !(cause instanceof StoreError)) return cause
  const { code, inDoubt } = cause
  const rest = inDoubt ? 'the state of the next ones is unknown' : 'the others are not'
  return new StoreError(
    `enqueueMany: the first ${done} of ${all} tasks are enqueued, ${rest}: ${cause.message}`,
    {
      code,
      hint: 'Use { atomic: true } for all or nothing.',
      cause,
      inDoubt,
    },
  )
}

/** The answer was lost, and it cannot be found out what became of it. */
function perhapsStored(what: string, error: unknown): unknown {
  if (!(error instanceof StoreError) || !error.inDoubt) return error
  return new StoreError(`${what} may or may not have been stored: ${error.message}`, {
    code: error.code,
    hint: 'With a key, enqueue can be called again: then there is one task.',
    cause: error,
    inDoubt: true,
  })
}

function asynchronousSchema(definition: TaskDefinition, unfinished: Promise<unknown>): InputError {
  unfinished.catch(() => {})
  return new InputError(`within: the schema of ${definition.name} is asynchronous`, {
    code: 'BAD_OPTION',
    hint: 'A transaction of better-sqlite3 cannot wait; check the input before, or use a synchronous schema.',
  })
}
