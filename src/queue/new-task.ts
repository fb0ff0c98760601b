import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkAfter } from '../define/flow.ts'
import { limitKeyOf } from '../define/limit.ts'
import { checkKey, checkName, shown } from '../define/names.ts'
import { orderKeyOf } from '../define/order.ts'
import { encodeInput } from '../define/payload.ts'
import { checkRetry } from '../define/retry.ts'
import { checkAgainst } from '../define/schema.ts'
import { checkRequires, computedRequires, type TaskDefinition } from '../define/task.ts'
import type { EnqueueOptions } from '../define/types.ts'
import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { readExactly } from '../exact-json.ts'
import type { WhenHeld } from '../model/held-key.ts'
import { PRIORITY_DEFAULT, PRIORITY_FIRST, PRIORITY_LAST } from '../model/rank.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import type { NewTask, Overrides } from '../store/ports/new-task.ts'
import { checkWhenHeld } from './held-options.ts'

const OPTIONS = declareOptions<EnqueueOptions>('enqueue', {
  priority: true,
  runAfter: true,
  key: true,
  keyScope: true,
  whenHeld: true,
  debounce: true,
  maxWait: true,
  throttle: true,
  requires: true,
  queue: true,
  retry: true,
  timeout: true,
  after: true,
  onFailure: true,
})

/** The year 2109: beyond it a rank could not hold the time. */
const DATE_MAX_MS = 2 ** 42 - 1

/** What `enqueue` was given, checked and encoded. Synchronous unless the schema is not. */
export function newTask(
  definition: TaskDefinition,
  input: unknown,
  options: EnqueueOptions | undefined,
  payloadLimit: number,
): NewTask | Promise<NewTask> {
  const what = `input of ${definition.name}`
  const { text: encoded, isChanged } = encodeInput(input, what, payloadLimit)
  const task = options === undefined ? plain(definition, encoded) : withOptions(definition, encoded, options)
  if (definition.input === undefined) return withParsed(definition, task, undefined)
  // What is stored is what was given: it is parsed again, to the same value, before it runs.
  const checked = checkAgainst(definition.input, input, what)
  if (checked instanceof Promise)
    return checked.then(async (parsed) =>
      withParsed(definition, task, isChanged ? await asStored(definition.input!, encoded, what) : parsed),
    )
  const seen = isChanged ? asStored(definition.input, encoded, what) : checked
  return seen instanceof Promise
    ? seen.then((parsed) => withParsed(definition, task, parsed))
    : withParsed(definition, task, seen)
}

/** What `run` will see of an input that is not the same as JSON. An input that could only fail then is refused now. */
function asStored(
  schema: StandardSchemaV1,
  encoded: string | null,
  what: string,
): unknown | Promise<unknown> {
  try {
    const checked = checkAgainst(schema, readExactly(encoded!), what)
    return checked instanceof Promise ? checked.catch((error) => refuseStored(error, what)) : checked
  } catch (error) {
    return refuseStored(error, what)
  }
}

function refuseStored(error: unknown, what: string): never {
  if (!(error instanceof InputError)) throw error
  throw new InputError(error.message.replace(what, `${what}, as it is stored, which is JSON,`), {
    code: 'BAD_INPUT',
    issues: [...error.issues],
    hint: 'A Date is stored as text: use z.coerce.date() or z.iso.datetime(). An instance of a class is stored as a plain object, if at all: pass plain data.',
    cause: error,
  })
}

/** By what `run` will see. */
function withParsed(definition: TaskDefinition, task: NewTask, parsed: unknown): NewTask {
  const { name, limit, order, requiresOf } = definition
  if (limit === null && order === null && requiresOf === null) return task
  return {
    ...task,
    ...(limit === null ? {} : { limitKey: limitKeyOf(limit, parsed, name) }),
    ...(order === null ? {} : { orderKey: orderKeyOf(order, parsed, name) }),
    ...(requiresOf === null ? {} : { requires: requiresWith(definition, task.requires, parsed) }),
  }
}

/** Requirements that were computed lately: neighbours with the same ones are inserted together. */
const SHARED_MAX = 1_000
const shared = new WeakMap<TaskDefinition, Map<string, NewTask['requires']>>()

/** What the enqueue says is merged over what the definition computes. */
function requiresWith(
  definition: TaskDefinition,
  said: NewTask['requires'],
  parsed: unknown,
): NewTask['requires'] {
  const { name, requiresOf } = definition
  const requires = { ...computedRequires(requiresOf!, parsed, name), ...said }
  if (Object.keys(requires).length === 0) return null
  const known = shared.get(definition) ?? new Map()
  shared.set(definition, known)
  if (known.size >= SHARED_MAX) known.clear()
  const words = JSON.stringify(requires)
  if (!known.has(words)) known.set(words, requires)
  return known.get(words)
}

function plain(definition: TaskDefinition, input: string | null): NewTask {
  return {
    name: definition.name,
    queue: definition.queue,
    requires: definition.requires,
    priority: PRIORITY_DEFAULT,
    input,
    key: null,
    keyScope: 'active',
    whenHeld: null,
    maxAttempts: definition.retry.attempts,
    overrides: null,
    runAfter: null,
  }
}

function withOptions(definition: TaskDefinition, input: string | null, options: EnqueueOptions): NewTask {
  refuseUnknown(options, OPTIONS, 'enqueue')
  const whenHeld = checkWhenHeld(options)
  const retry = options.retry === undefined ? {} : checkRetry(options.retry, 'retry')
  const after = checkAfter(options)
  return {
    ...plain(definition, input),
    queue: options.queue === undefined ? definition.queue : checkName(options.queue, 'queue', 'BAD_QUEUE'),
    requires: mergedRequires(definition, options),
    priority: options.priority === undefined ? PRIORITY_DEFAULT : checkPriority(options.priority),
    key: options.key === undefined ? null : checkKey(options.key),
    keyScope: checkKeyScope(options),
    whenHeld,
    maxAttempts: retry.attempts ?? definition.retry.attempts,
    overrides: overridesOf(retry, options),
    runAfter: runAfterOf(options, whenHeld),
    ...(after === null ? {} : { after }),
  }
}

function mergedRequires(definition: TaskDefinition, options: EnqueueOptions): NewTask['requires'] {
  if (options.requires === undefined) return definition.requires
  const merged = { ...definition.requires, ...checkRequires(options.requires, 'enqueue') }
  return Object.keys(merged).length === 0 ? null : merged
}

function overridesOf(retry: ReturnType<typeof checkRetry>, options: EnqueueOptions): Overrides | null {
  const { attempts: _, backoff, ...rest } = retry
  if (typeof backoff === 'function') {
    throw new InputError('retry.backoff: a function cannot be stored with a task', {
      code: 'BAD_OPTION',
      hint: 'Put it into the definition of the task.',
    })
  }
  const stored = { ...rest, ...(backoff === undefined ? {} : { backoff }) }
  const overrides: Overrides = {
    ...(Object.keys(stored).length === 0 ? {} : { retry: stored }),
    ...(options.timeout === undefined ? {} : { timeoutMs: durationMs(options.timeout, 'timeout') }),
  }
  return Object.keys(overrides).length === 0 ? null : overrides
}

function checkPriority(priority: unknown): number {
  if (Number.isInteger(priority) && Number(priority) >= PRIORITY_FIRST && Number(priority) <= PRIORITY_LAST) {
    return Number(priority)
  }
  throw new InputError(`priority: ${shown(priority)} is not a priority`, {
    code: 'BAD_PRIORITY',
    hint: `Use a whole number from ${PRIORITY_FIRST} (first) to ${PRIORITY_LAST} (last).`,
  })
}

function checkKeyScope({ key, keyScope }: EnqueueOptions): NewTask['keyScope'] {
  if (keyScope === undefined) return 'active'
  if ((keyScope === 'active' || keyScope === 'forever') && key !== undefined) return keyScope
  throw new InputError(`keyScope: ${shown(keyScope)} is not valid`, {
    code: 'BAD_KEY',
    hint: "Use 'active' or 'forever', together with a key.",
  })
}

function runAfterOf({ runAfter }: EnqueueOptions, whenHeld: WhenHeld | null): NewTask['runAfter'] {
  if (whenHeld?.kind === 'debounce') return { ms: whenHeld.ms }
  return runAfter === undefined ? null : checkRunAfter(runAfter)
}

function checkRunAfter(runAfter: unknown): NewTask['runAfter'] {
  if (!(runAfter instanceof Date)) return { ms: durationMs(runAfter, 'runAfter') }
  const at = runAfter.getTime()
  if (at >= 0 && at <= DATE_MAX_MS) return { at }
  throw new InputError(`runAfter: ${String(runAfter)} is not a date to run at`, {
    code: 'BAD_DATE',
    hint: 'Use a valid Date between 1970 and 2109, or a duration.',
  })
}
