import { checkKey, checkName, shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import { isFinished, TASK_STATUSES, type TaskStatus } from '../model/task.ts'
import type { TaskFilter } from '../store/ports/tasks.ts'

/** Which tasks: all conditions hold together. */
export interface TaskQuery {
  /** Only tasks in this status. */
  status?: TaskStatus
  /** Only tasks in this queue. */
  queue?: string
  /** Only tasks of this name. */
  name?: string
  /** Only tasks with this key. */
  key?: string
  /** From then on. */
  createdAfter?: Date | number
  /** Until just before then. */
  createdBefore?: Date | number
  /** Only tasks that finished at this time or later. */
  finishedAfter?: Date | number
  /** Only tasks that finished before this time. */
  finishedBefore?: Date | number
  /** Text in the message of the last error; `a` to `z` match `A` to `Z`. */
  error?: string
}

const TIMES = ['createdAfter', 'createdBefore', 'finishedAfter', 'finishedBefore'] as const
const CONDITIONS = ['status', 'queue', 'name', 'key', ...TIMES, 'error'] as const
const ERROR_TEXT_MAX = 1_000
const TIME_MAX_MS = 8_640_000_000_000_000

/** `allowed`: the conditions that this listing knows. */
export function checkQuery(query: TaskQuery, allowed: readonly (keyof TaskQuery)[] = CONDITIONS): TaskFilter {
  refuseUnknown(query, allowed)
  const filter: TaskFilter = {}
  if (query.status !== undefined) filter.status = checkStatus(query.status)
  if (query.queue !== undefined) filter.queue = checkName(query.queue, 'queue', 'BAD_QUEUE')
  if (query.name !== undefined) filter.name = checkName(query.name, 'name', 'BAD_OPTION')
  if (query.key !== undefined) filter.key = checkKey(query.key)
  for (const time of TIMES) if (query[time] !== undefined) filter[time] = checkTime(time, query[time])
  if (query.error !== undefined) filter.error = checkErrorText(query.error)
  refuseContradictions(filter)
  return filter
}

function refuseUnknown(query: TaskQuery, allowed: readonly string[]): void {
  if (typeof query !== 'object' || query === null || Array.isArray(query)) {
    throw bad(`${shown(query)} is not a filter`, "Pass an object, e.g. { status: 'failed' }.")
  }
  const unknown = Object.keys(query).find((name) => !allowed.includes(name))
  if (unknown !== undefined)
    throw bad(`${shown(unknown)} is not a filter`, `There are: ${allowed.join(', ')}.`)
}

function checkStatus(status: unknown): TaskStatus {
  if (TASK_STATUSES.includes(status as TaskStatus)) return status as TaskStatus
  throw bad(`status: ${shown(status)} is not a status`, `There are: ${TASK_STATUSES.join(', ')}.`)
}

function checkTime(what: string, time: unknown): number {
  const ms = time instanceof Date ? time.getTime() : time
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= TIME_MAX_MS) return ms
  throw new InputError(`${what}: ${shown(time)} is not a time`, {
    code: 'BAD_DATE',
    hint: 'Use a valid Date, or whole milliseconds since 1970.',
  })
}

function checkErrorText(text: unknown): string {
  if (typeof text === 'string' && text.length > 0 && text.length <= ERROR_TEXT_MAX) return text
  throw bad(`error: ${shown(text)} is not a string to search for`, `Use 1 to ${ERROR_TEXT_MAX} characters.`)
}

/** What can name no task is a mistake, and an empty answer would hide it. */
function refuseContradictions(filter: TaskFilter): void {
  const { status, createdAfter = 0, finishedAfter = 0 } = filter
  const { createdBefore = Number.POSITIVE_INFINITY, finishedBefore = Number.POSITIVE_INFINITY } = filter
  if (createdAfter >= createdBefore) throw nothingBetween('createdAfter', 'createdBefore')
  if (finishedAfter >= finishedBefore) throw nothingBetween('finishedAfter', 'finishedBefore')
  const finished = filter.finishedAfter ?? filter.finishedBefore
  if (finished !== undefined && status !== undefined && !isFinished(status)) {
    throw bad(
      `a task that is ${status} has not finished`,
      'Leave finishedAfter and finishedBefore out, or ask for completed, failed or cancelled.',
    )
  }
}

function nothingBetween(after: string, before: string): InputError {
  return bad(`nothing lies between ${after} and ${before}`, `${after} must be earlier than ${before}.`)
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
