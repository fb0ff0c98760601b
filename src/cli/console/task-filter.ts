import { TASK_STATUSES, type TaskStatus } from '../../model/task.ts'
import type { TaskQuery } from '../../queue/task-query.ts'
import { type Option, text, type Values } from './command.ts'
import { aDuration, areRequirements, aTime, durationOf, requirementsOf, timeOf } from './values.ts'

const time = (about: string): Option => ({ type: 'string', value: 'time', check: aTime, about })

/** Which tasks: all that is given holds together. */
export const FILTER_OPTIONS = {
  status: {
    type: 'string',
    short: 's',
    value: 'status',
    choices: TASK_STATUSES,
    about: 'Only tasks in this status.',
  },
  queue: { type: 'string', value: 'queue', about: 'Only tasks of this queue.' },
  name: { type: 'string', value: 'task', about: 'Only tasks of this name.' },
  key: { type: 'string', value: 'key', about: 'Only tasks with this key.' },
  requires: {
    type: 'string',
    value: 'name=value,…',
    check: areRequirements,
    about: 'Only tasks that require this, e.g. region=eu.',
  },
  parent: { type: 'string', value: 'id', about: 'Only tasks that this task waits or waited for.' },
  error: { type: 'string', value: 'text', about: 'Only tasks whose last error contains this text.' },
  'created-after': time('Enqueued since this date (2026-11-15T20:00Z), or since this long ago (2h).'),
  'created-before': time('Enqueued before this time.'),
  'started-before': time('Running or finished tasks whose last attempt started before this time.'),
  'running-longer-than': {
    type: 'string',
    value: 'duration',
    check: aDuration,
    about: 'Only tasks that have run for longer than this (10m) in their current attempt.',
  },
  'finished-after': time('Finished since this time.'),
  'finished-before': time('Finished before this time.'),
} satisfies Record<string, Option>

export function filterOf(values: Values, now: number): TaskQuery {
  const given = {
    status: text(values.status) as TaskStatus | undefined,
    queue: text(values.queue),
    name: text(values.name),
    key: text(values.key),
    requires: requirementsOf('requires', values),
    parent: text(values.parent),
    error: text(values.error),
    createdAfter: timeOf('created-after', values, now),
    createdBefore: timeOf('created-before', values, now),
    startedBefore: timeOf('started-before', values, now),
    runningLongerThan: durationOf('running-longer-than', values),
    finishedAfter: timeOf('finished-after', values, now),
    finishedBefore: timeOf('finished-before', values, now),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
