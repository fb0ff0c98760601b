import { TASK_STATUSES, type TaskStatus } from '../model/task.ts'
import type { TaskQuery } from '../queue/task-query.ts'
import { type Option, text, type Values } from './command.ts'
import { aTime, timeOf } from './values.ts'

const time = (about: string): Option => ({ type: 'string', value: 'time', check: aTime, about })

/** Which tasks: all that is given holds together. */
export const FILTER_OPTIONS = {
  status: { type: 'string', short: 's', value: 'status', choices: TASK_STATUSES, about: 'In this status.' },
  queue: { type: 'string', value: 'queue', about: 'On this queue.' },
  name: { type: 'string', value: 'task', about: 'Of this task.' },
  key: { type: 'string', value: 'key', about: 'With this key.' },
  error: { type: 'string', value: 'text', about: 'With this text in the message of the last error.' },
  'created-after': time('Enqueued since then: a date (2026-11-15T20:00Z), or so long ago (2h).'),
  'created-before': time('Enqueued before then.'),
  'finished-after': time('Finished since then.'),
  'finished-before': time('Finished before then.'),
} satisfies Record<string, Option>

export function filterOf(values: Values, now: number): TaskQuery {
  const given = {
    status: text(values.status) as TaskStatus | undefined,
    queue: text(values.queue),
    name: text(values.name),
    key: text(values.key),
    error: text(values.error),
    createdAfter: timeOf('created-after', values, now),
    createdBefore: timeOf('created-before', values, now),
    finishedAfter: timeOf('finished-after', values, now),
    finishedBefore: timeOf('finished-before', values, now),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
