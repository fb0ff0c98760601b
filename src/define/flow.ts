import { InputError } from '../errors.ts'
import { AFTER_MAX, FLOW_TASKS_MAX } from '../model/flow.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { shown } from './names.ts'
import type { AllOptions, EnqueueOptions, RunOptions } from './types.ts'

/** What a child may be enqueued with: whatever makes no other task of it, and does not let it wait for others. */
const OF_EACH = { priority: true, requires: true, queue: true, retry: true, timeout: true } as const
const RUN = declareOptions<RunOptions>('ctx.run', { ...OF_EACH, key: true, keyScope: true, runAfter: true })
const ALL = declareOptions<AllOptions>('ctx.all', { ...OF_EACH, concurrency: true, onFailure: true })

export interface CheckedAll {
  concurrency: number | null
  onFailure: 'fail' | 'collect'
  /** For each task. */
  enqueue: EnqueueOptions
}

export function checkRun(options: RunOptions = {}): EnqueueOptions {
  refuseUnknown(options, RUN, 'ctx.run')
  return options
}

export function checkAll(name: string, inputs: readonly unknown[], options: AllOptions = {}): CheckedAll {
  const what = `ctx.all ${shown(name)}`
  checkTasks(inputs, what)
  refuseUnknown(options, ALL, what)
  const { concurrency, onFailure = 'fail', ...enqueue } = options
  if (onFailure !== 'fail' && onFailure !== 'collect')
    throw bad(`${what}: onFailure is ${shown(onFailure)}`, "Use 'fail' or 'collect'.")
  return { concurrency: checkConcurrency(concurrency, what), onFailure, enqueue }
}

export function checkTasks(tasks: readonly unknown[], what: string): void {
  if (!Array.isArray(tasks))
    throw bad(`${what}: ${shown(tasks)} is not an array`, 'Pass one entry for each task.')
  if (tasks.length > FLOW_TASKS_MAX)
    throw new InputError(`${what}: ${tasks.length} tasks are too many`, {
      code: 'FLOW_TOO_LARGE',
      hint: `Use ${FLOW_TASKS_MAX} at most, or let each child have children of its own.`,
    })
}

export function checkConcurrency(concurrency: unknown, what: string): number | null {
  if (concurrency === undefined) return null
  if (Number.isSafeInteger(concurrency) && Number(concurrency) >= 1) return Number(concurrency)
  throw bad(`${what}: concurrency is ${shown(concurrency)}`, 'Use a whole number from 1.')
}

const NOT_WITH_AFTER = ['runAfter', 'whenHeld', 'debounce', 'maxWait', 'throttle'] as const

/** Null: it waits for nothing. */
export function checkAfter(
  options: EnqueueOptions,
): { tasks: readonly string[]; onFailure: 'fail' | 'run' | 'cancel' } | null {
  const { after, onFailure } = options
  if (after === undefined) {
    if (onFailure === undefined) return null
    throw bad('onFailure without after', 'Name the tasks that this one runs after: { after: [handle] }.')
  }
  if (!Array.isArray(after))
    throw bad(`after: ${shown(after)} is not an array`, 'Pass handles or ids of tasks.')
  if (onFailure !== undefined && !['fail', 'run', 'cancel'].includes(onFailure))
    throw bad(`onFailure: ${shown(onFailure)} is not valid`, "Use 'fail', 'run' or 'cancel'.")
  const other = NOT_WITH_AFTER.find((name) => options[name] !== undefined)
  if (other !== undefined)
    throw bad(`after together with ${other}`, 'A task that runs after others begins when they have ended.')
  if (after.length > AFTER_MAX)
    throw new InputError(`after: ${after.length} tasks are too many`, {
      code: 'FLOW_TOO_LARGE',
      hint: `Use ${AFTER_MAX} at most, or a batch.`,
    })
  const tasks = [...new Set(after.map(idOf))]
  return tasks.length === 0 ? null : { tasks, onFailure: onFailure ?? 'fail' }
}

function idOf(task: unknown): string {
  const id = typeof task === 'object' && task !== null && 'id' in task ? task.id : task
  if (typeof id === 'string' && id !== '') return id
  throw bad(
    `after: ${shown(task)} is neither a handle nor the id of a task`,
    'Pass what enqueue returned, or its id.',
  )
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
