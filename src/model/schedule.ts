import { Cron } from 'croner'
import { durationMs } from '../duration.ts'
import { isFinished, type TaskStatus } from './task.ts'

/** When a task recurs. A cron expression has a time zone, an interval has none: that is how they are told apart. */
export interface Schedule {
  /** The interval or the cron expression. */
  every: string
  /** The time zone of a cron expression. */
  timezone: string | null
}

/** A schedule, and its task. */
export interface NamedSchedule extends Schedule {
  /** The name of its task. A task has at most one schedule. */
  name: string
}

/** What recurs, as every reader sees it. */
export interface ScheduleRecord extends NamedSchedule {
  /** Null while it is paused. */
  nextAt: number | null
  /** The time that `lastTask` was enqueued for. After a downtime: the first time that was missed. */
  lastAt: number | null
  /** The id of the task of the last occurrence. */
  lastTask: string | null
  /** True if it enqueues nothing. */
  paused: boolean
}

/** What came of looking for what is due. */
export interface Firing {
  fired: { name: string; at: number; task: string }[]
  /** When the next one is due; null when all of them are paused. */
  nextInMs: number | null
}

/**
 * The first occurrence after a moment. Intervals are counted from 1970, so that they neither drift nor depend on when
 * somebody started; for cron, croner decides what becomes of a time that a clock change leaves out or repeats.
 */
export function nextOccurrence({ every, timezone }: Schedule, afterMs: number): number {
  if (timezone === null) {
    const intervalMs = durationMs(every, 'every')
    return (Math.floor(afterMs / intervalMs) + 1) * intervalMs
  }
  const next = new Cron(every, { timezone, mode: '5-or-6-parts' }).nextRun(new Date(afterMs))
  if (next === null) throw new RangeError(`${every} never occurs`)
  return next.getTime()
}

/** What follows one that was due: nothing that was missed meanwhile, and never the same again, should a clock go back. */
export function occurrenceAfter(schedule: Schedule, dueAtMs: number, nowMs: number): number {
  return nextOccurrence(schedule, Math.max(dueAtMs, nowMs))
}

/**
 * The clock was ahead when the next time was planned, and was set back: the time to plan instead. Null: it stands. The
 * occurrence that was enqueued last does not come again.
 */
export function plannedAnew(
  schedule: Schedule,
  { nextAt, lastAt }: Pick<ScheduleRecord, 'lastAt'> & { nextAt: number },
  nowMs: number,
): number | null {
  const next = nextOccurrence(schedule, nowMs)
  if (nextAt <= next) return null
  const anew = next === lastAt ? nextOccurrence(schedule, next) : next
  return anew < nextAt ? anew : null
}

/** Whether an occurrence is skipped: the task of the one before, if it is still there, has not ended. */
export function overlaps(previous: TaskStatus | null): boolean {
  return previous !== null && !isFinished(previous)
}
