import { checkKey, checkName, shown } from '../define/names.ts'
import { checkRequires } from '../define/task.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { isFinished, type Requires, TASK_STATUSES, type TaskStatus } from '../model/task.ts'
import { declareOptions, knownOptions } from '../options.ts'
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
  /** Only tasks that require all of this, e.g. `{ region: 'eu' }`. They may require more. `42` and `'42'` are the same here. */
  requires?: Requires
  /** Only tasks that were enqueued at this time or later. */
  createdAfter?: Time
  /** Only tasks that were enqueued before this time. */
  createdBefore?: Time
  /** Only tasks whose last attempt started before this time: running and finished tasks. */
  startedBefore?: Time
  /** Only tasks whose current attempt has run for longer than this. It implies the status `running`. */
  runningLongerThan?: Duration
  /** Only tasks that finished at this time or later. */
  finishedAfter?: Time
  /** Only tasks that finished before this time. */
  finishedBefore?: Time
  /** Only tasks that this one waits or waited for: the id of a task, or `<discovery>/<key>` of a row. */
  parent?: string
  /** Text in the message of the last error; `a` to `z` match `A` to `Z`. */
  error?: string
}

/** A `Date`, milliseconds since 1970, or an ISO 8601 date. A date with a time needs its time zone: `2026-11-15T20:00Z`. */
export type Time = Date | number | string

const TIMES = ['createdAfter', 'createdBefore', 'startedBefore', 'finishedAfter', 'finishedBefore'] as const
const CONDITIONS = declareOptions<TaskQuery>('a filter of tasks', {
  status: true,
  queue: true,
  name: true,
  key: true,
  requires: true,
  createdAfter: true,
  createdBefore: true,
  startedBefore: true,
  finishedAfter: true,
  finishedBefore: true,
  runningLongerThan: true,
  error: true,
  parent: true,
})
const ERROR_TEXT_MAX = 1_000
const TIME_MAX_MS = 8_640_000_000_000_000

/** `allowed`: the conditions that this listing knows. */
export function checkQuery(query: TaskQuery, allowed: readonly string[] = CONDITIONS.names): TaskFilter {
  refuseUnknown(query, allowed)
  const filter: TaskFilter = {}
  if (query.status !== undefined) filter.status = checkStatus(query.status)
  if (query.queue !== undefined) filter.queue = checkName(query.queue, 'queue', 'BAD_QUEUE')
  if (query.name !== undefined) filter.name = checkName(query.name, 'name', 'BAD_OPTION')
  if (query.key !== undefined) filter.key = checkKey(query.key)
  if (query.requires !== undefined) filter.requires = checkRequired(query.requires)
  for (const time of TIMES) if (query[time] !== undefined) filter[time] = checkTime(time, query[time])
  if (query.runningLongerThan !== undefined) {
    filter.runningLongerThanMs = durationMs(query.runningLongerThan, 'runningLongerThan')
    if (filter.status === undefined) filter.status = 'running'
  }
  if (query.parent !== undefined) filter.parent = checkParent(query.parent)
  if (query.error !== undefined) filter.error = checkErrorText(query.error)
  refuseContradictions(filter)
  return filter
}

function refuseUnknown(query: TaskQuery, allowed: readonly string[]): void {
  if (typeof query !== 'object' || query === null || Array.isArray(query)) {
    throw bad(`${shown(query)} is not a filter`, "Pass an object, e.g. { status: 'failed' }.")
  }
  const unknown = Object.keys(query).find((name) => !allowed.includes(name))
  if (unknown !== undefined) throw bad(`${shown(unknown)} is not a filter`, knownOptions(unknown, allowed))
}

function checkStatus(status: unknown): TaskStatus {
  if (TASK_STATUSES.includes(status as TaskStatus)) return status as TaskStatus
  throw bad(`status: ${shown(status)} is not a status`, `There are: ${TASK_STATUSES.join(', ')}.`)
}

const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/

function checkTime(what: string, time: unknown): number {
  const ms = typeof time === 'string' ? isoMs(what, time) : time instanceof Date ? time.getTime() : time
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= TIME_MAX_MS) return ms
  throw noTime(
    `${what}: ${shown(time)} is not a time`,
    'Use a Date, whole milliseconds since 1970, or an ISO date: 2026-11-15T20:00:00Z.',
  )
}

/** A time without a zone would mean another moment on every machine. */
function isoMs(what: string, time: string): number {
  const parts = ISO_DATE.exec(time)
  if (parts === null) return Number.NaN
  if (time.includes('T') && parts.groups?.zone === undefined)
    throw noTime(`${what}: ${shown(time)} has no time zone`, `Add one, for example ${time}Z for UTC.`)
  return Date.parse(time)
}

function noTime(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_DATE', hint })
}

function checkRequired(requires: unknown): Requires {
  const checked = checkRequires(requires, 'filter')
  if (Object.keys(checked).length > 0) return checked
  throw bad('requires: {} names no requirement', "Use e.g. { region: 'eu' }, or leave it out.")
}

const PARENT_MAX = 1_000

function checkParent(parent: unknown): string {
  if (typeof parent === 'string' && parent !== '' && parent.length <= PARENT_MAX) return parent
  throw bad(`parent: ${shown(parent)} is not an id`, 'Use the id of a task, or <discovery>/<key> of a row.')
}

function checkErrorText(text: unknown): string {
  if (typeof text === 'string' && text.length > 0 && text.length <= ERROR_TEXT_MAX) return text
  throw bad(`error: ${shown(text)} is not a string to search for`, `Use 1 to ${ERROR_TEXT_MAX} characters.`)
}

/** What can name no task is a mistake, and an empty answer would hide it. */
export function refuseContradictions(filter: TaskFilter): void {
  const { status, createdAfter = 0, finishedAfter = 0 } = filter
  const { createdBefore = Number.POSITIVE_INFINITY, finishedBefore = Number.POSITIVE_INFINITY } = filter
  if (createdAfter >= createdBefore) throw nothingBetween('createdAfter', 'createdBefore')
  if (finishedAfter >= finishedBefore) throw nothingBetween('finishedAfter', 'finishedBefore')
  refuseOtherStatus(filter)
  if (filter.parent !== undefined && (filter.finishedAfter ?? filter.finishedBefore) !== undefined)
    throw bad(
      'parent together with a time at which tasks finished',
      'Leave out finishedAfter and finishedBefore.',
    )
  const finished = filter.finishedAfter ?? filter.finishedBefore
  if (finished !== undefined && status !== undefined && !isFinished(status)) {
    throw bad(
      `a task that is ${status} has not finished`,
      'Leave finishedAfter and finishedBefore out, or ask for completed, failed or cancelled.',
    )
  }
}

function refuseOtherStatus({ status, runningLongerThanMs, startedBefore, ...filter }: TaskFilter): void {
  if (runningLongerThanMs !== undefined && status !== 'running') {
    throw bad(
      `a task that is ${status} does not run`,
      "Leave runningLongerThan out, or leave out the status: it implies 'running'.",
    )
  }
  if (startedBefore === undefined) return
  if (status !== undefined && status !== 'running' && !isFinished(status)) {
    throw bad(
      `a task that is ${status} has not started`,
      'Leave startedBefore out, or ask for running, completed, failed or cancelled. createdBefore finds tasks that wait for long.',
    )
  }
  if (filter.createdAfter !== undefined && filter.createdAfter >= startedBefore)
    throw nothingBetween('createdAfter', 'startedBefore')
}

function nothingBetween(after: string, before: string): InputError {
  return bad(`nothing lies between ${after} and ${before}`, `${after} must be earlier than ${before}.`)
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
