import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { Strategy } from '../model/queue.ts'
import type { RetryPolicy } from '../model/retry.ts'
import type { Requires } from '../model/task.ts'
import { declareOptions, type Parts, refuseUnknown } from '../options.ts'
import { messageOf } from '../thrown.ts'
import {
  type BatchContext,
  type BatchDefinition,
  type BatchOptions,
  type BatchResults,
  checkBatch,
} from './batch.ts'
import { checkKeyLimit, type KeyLimit, type LimitOptions } from './limit.ts'
import { checkName, shown } from './names.ts'
import { checkOrder, type OrderOf } from './order.ts'
import { checkStrategy } from './queue.ts'
import { checkUses, type Resources, type Uses } from './resource.ts'
import { retryPolicy } from './retry.ts'
import { checkRecurrence, type Recurrence } from './schedule.ts'
import { isSchema } from './schema.ts'
import type { Context, InputOf, ParsedOf, ResultOf, Task, TaskOptions } from './types.ts'

const IMPLEMENTATION = declareOptions<Parts<'uses' | 'batch' | 'run'>>('implement', {
  uses: true,
  batch: true,
  run: true,
})

const TIMEOUT_DEFAULT = '1h'
const OPTIONS = declareOptions<
  TaskOptions & Parts<'input' | 'output' | 'everyInput' | 'limit' | 'order' | 'batch' | 'run'>
>('defineTask', {
  name: true,
  queue: true,
  input: true,
  output: true,
  retry: true,
  timeout: true,
  requires: true,
  uses: true,
  every: true,
  timezone: true,
  everyInput: true,
  limit: true,
  strategy: true,
  order: true,
  batch: true,
  run: true,
})

/** What the engine sees of a definition. */
export interface TaskDefinition {
  readonly name: string
  readonly queue: string
  readonly input: Std | undefined
  readonly output: Std | undefined
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly requires: Requires | null
  /** Computes them from the input of each task. Null: they are the same for all. */
  readonly requiresOf: ((input: any) => unknown) | null
  readonly recurrence: Recurrence | null
  readonly limit: KeyLimit | null
  /** The order among its own tasks. Null: that of their queue. */
  readonly strategy: Strategy | null
  /** Its tasks with the same key run one at a time, in the order of enqueue. */
  readonly order: OrderOf | null
  readonly uses: Uses | null
  /** Its handler takes many inputs at once. */
  readonly batch: BatchDefinition | null
  readonly run: Handler | undefined
}

export type Handler = (input: any, ctx: Context<any>) => unknown
/** Of one input, or of many. */
export type AnyHandler = (inputs: any, ctx: any) => unknown

/** Shared by all copies of this package in a program, so that each recognises the other's definitions. */
const BRAND = Symbol.for('gleaner.task')

/** What a task is given and returns, and what follows from its input. */
type TypedOptions<S extends Std | undefined, O extends Std | undefined, U extends Resources> = Omit<
  TaskOptions<U>,
  'requires'
> & {
  /** Only workers with these capabilities run the task. A function computes them from the input, when the task is enqueued. */
  requires?: Requires | ((input: NoInfer<ParsedOf<S>>) => Requires)
  /** Checked when enqueued and again before it runs. */
  input?: S
  /** Types (and checks) the result where `run` lives elsewhere. */
  output?: O
  /** What each task of a recurring one is given. */
  everyInput?: NoInfer<InputOf<S>>
  /** How many of the same key run at the same time, or start in a time, in all processes together. */
  limit?: LimitOptions<NoInfer<ParsedOf<S>>>
  /** Tasks with the same answer run one at a time, in the order of enqueue, whatever their priority and in all processes together. */
  order?: (input: NoInfer<ParsedOf<S>>) => string | number
}

/** Defines a task: its name, its input, and the code that runs it. Types follow from the schema and from `run`. */
export function defineTask<
  R = unknown,
  S extends Std | undefined = undefined,
  O extends Std | undefined = undefined,
  // biome-ignore lint/complexity/noBannedTypes: no resources
  U extends Resources = {},
>(
  options: TypedOptions<S, O, U> & {
    /** Collects tasks, and calls `run` once for many of them. */
    batch: BatchOptions<NoInfer<ParsedOf<S>>>
    run?(inputs: ParsedOf<S>[], ctx: BatchContext<U>): BatchResults<R> | Promise<BatchResults<R>>
  },
): Task<InputOf<S>, ResultOf<O, R>, ParsedOf<S>>
export function defineTask<
  R = unknown,
  S extends Std | undefined = undefined,
  O extends Std | undefined = undefined,
  // biome-ignore lint/complexity/noBannedTypes: no resources
  U extends Resources = {},
>(
  options: TypedOptions<S, O, U> & {
    batch?: undefined
    run?(input: ParsedOf<S>, ctx: Context<U>): R
  },
): Task<InputOf<S>, ResultOf<O, R>, ParsedOf<S>>
export function defineTask(
  options: TypedOptions<any, any, any> & { batch?: BatchOptions | undefined; run?: AnyHandler },
): Task {
  const name = checkName(options?.name, 'defineTask: name', 'BAD_DEFINITION')
  const what = `task ${name}`
  refuseUnknown(options, OPTIONS, what, 'BAD_DEFINITION')
  return brand({
    name,
    queue: checkName(options.queue ?? 'default', `${what}: queue`, 'BAD_QUEUE'),
    input: checkSchema(options.input, `${what}: input`),
    output: checkSchema(options.output, `${what}: output`),
    retry: retryPolicy(options.retry, `${what}: retry`),
    timeoutMs: durationMs(options.timeout ?? TIMEOUT_DEFAULT, `${what}: timeout`),
    ...requirementsOf(options.requires, what),
    recurrence: checkRecurrence(options, what),
    order: checkOrder(options.order, `${what}: order`),
    limit: checkKeyLimit(options.limit, `${what}: limit`),
    strategy:
      options.strategy === undefined
        ? null
        : checkStrategy(options.strategy, `${what}: strategy`, 'BAD_DEFINITION'),
    uses: checkUses(options.uses, what),
    batch: checkBatch(options.batch, `${what}: batch`),
    run: options.run === undefined ? undefined : checkHandler(options.run, what),
  })
}

/** The code of a task that was defined without `run`, so that a process that only enqueues does not load it. */
// biome-ignore lint/complexity/noBannedTypes: no resources
export function implement<I, R, P, U extends Resources = {}>(
  task: Task<I, R, P>,
  implementation: {
    uses?: U
    /** Collects tasks, and calls `run` once for many of them. */
    batch: BatchOptions<P>
    run(inputs: P[], ctx: BatchContext<U>): BatchResults<R> | Promise<BatchResults<R>>
  },
): Task<I, R, P>
// biome-ignore lint/complexity/noBannedTypes: no resources
export function implement<I, R, P, U extends Resources = {}>(
  task: Task<I, R, P>,
  implementation: { uses?: U; batch?: undefined; run(input: P, ctx: Context<U>): R | Promise<R> },
): Task<I, R, P>
export function implement(
  task: Task,
  implementation: { uses?: Resources; batch?: BatchOptions | undefined; run: AnyHandler },
): Task {
  const definition = definitionOf(task)
  if (definition.run !== undefined) {
    throw new InputError(`task ${definition.name} has a run already`, {
      code: 'BAD_DEFINITION',
      hint: 'Leave `run` out of defineTask to implement it elsewhere.',
    })
  }
  const what = `task ${definition.name}`
  refuseUnknown(implementation ?? {}, IMPLEMENTATION, `implement: ${what}`, 'BAD_DEFINITION')
  const batch = checkBatch(implementation?.batch, `implement: ${what}: batch`)
  if (definition.batch !== null && batch === null)
    throw new InputError(`task ${definition.name} takes batches, and its implementation does not say so`, {
      code: 'BAD_DEFINITION',
      hint: 'Pass `batch` to implement, where `run` is, and leave it out of defineTask.',
    })
  const uses = checkUses(implementation?.uses, what) ?? definition.uses
  return brand({ ...definition, uses, batch, run: checkHandler(implementation?.run, what) })
}

/** The same task, done by something else than its own code, which therefore uses nothing of ours. It may not take batches. */
export function doneBy(
  task: Task,
  run: (definition: TaskDefinition) => Handler,
  { batches }: { batches: boolean },
): Task {
  const own = definitionOf(task)
  const definition = { ...own, uses: null, batch: batches ? own.batch : null }
  return brand({ ...definition, run: run(definition) })
}

export function definitionOf(task: unknown): TaskDefinition {
  const definition = (task as { [BRAND]?: TaskDefinition } | null | undefined)?.[BRAND]
  if (definition !== undefined) return definition
  throw new InputError(`${shown(task)} is not a task`, {
    code: 'UNKNOWN_TASK',
    hint: 'Pass what defineTask returned.',
  })
}

function brand<I, R, P>(definition: TaskDefinition): Task<I, R, P> {
  return Object.freeze({ name: definition.name, queue: definition.queue, [BRAND]: Object.freeze(definition) })
}

export function checkSchema(schema: Std | undefined, what: string): Std | undefined {
  if (schema === undefined || isSchema(schema)) return schema
  throw new InputError(`${what} is not a Standard Schema`, {
    code: 'BAD_DEFINITION',
    hint: 'Use a schema of zod, valibot, arktype or another library that follows the Standard Schema.',
  })
}

export function checkHandler(run: unknown, what: string): Handler {
  if (typeof run === 'function') return run as Handler
  throw new InputError(`${what}: run is ${shown(run)}`, { code: 'BAD_DEFINITION', hint: 'Give a function.' })
}

function requirementsOf(requires: unknown, what: string): Pick<TaskDefinition, 'requires' | 'requiresOf'> {
  if (typeof requires === 'function')
    return { requires: null, requiresOf: requires as (input: any) => unknown }
  return { requires: requires === undefined ? null : checkRequires(requires, what), requiresOf: null }
}

/** What one task requires. Whatever the function does is an answer to the caller, not a crash. */
export function computedRequires(
  requiresOf: (input: any) => unknown,
  input: unknown,
  task: string,
): Requires {
  const hint = "requires must return an object of strings, numbers and booleans, e.g. { region: 'eu' }."
  let value: unknown
  try {
    value = requiresOf(input)
  } catch (cause) {
    throw new InputError(`task ${task}: requires failed: ${messageOf(cause)}`, {
      code: 'BAD_REQUIRES',
      hint,
      cause,
    })
  }
  if (isRequires(value)) return value
  throw new InputError(`task ${task}: requires: ${shown(value)} is not valid`, { code: 'BAD_REQUIRES', hint })
}

export function checkRequires(requires: unknown, what: string): Requires {
  if (isRequires(requires)) return requires
  throw new InputError(`${what}: requires: ${shown(requires)} is not valid`, {
    code: 'BAD_OPTION',
    hint: "Use an object of strings, numbers and booleans, e.g. { gpu: true, region: 'eu' }.",
  })
}

const REQUIREMENT_MAX = 1_000

/** Databases and logs can hold it, and another process reads the same. */
function isRequires(value: unknown): value is Requires {
  // A promise or a map has no entries, and would be taken for no requirement.
  if (Object.prototype.toString.call(value) !== '[object Object]') return false
  return Object.entries(value as object).every(([name, one]) => isStorable(name) && isScalar(one))
}

function isScalar(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  return typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
}

function isStorable(text: string): boolean {
  return text.length <= REQUIREMENT_MAX && !text.includes('\0') && text.isWellFormed()
}
