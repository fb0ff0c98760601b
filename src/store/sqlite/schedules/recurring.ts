import type { Change } from '../../contract.ts'
import type { Recurring } from '../../schedule-row.ts'
import type { Statements } from '../file/statements.ts'
import type { Intended } from '../tasks/enqueue.ts'
import {
  changedSchedules,
  dueSchedules,
  fireSchedules,
  listSchedules,
  planSchedules,
  setSchedulePaused,
  triggerSchedule,
} from './schedules.ts'

interface RecurringServices {
  db: Statements
  now: () => number
  intended: Intended
  read: <T>(look: () => T) => Promise<T>
  writeAndTell: <T>(change: () => T, news: (answer: T) => Change | null) => Promise<T>
}

export function recurring({ db, now, intended, read, writeAndTell }: RecurringServices): Recurring {
  return {
    async planSchedules(schedules) {
      // Looks before it locks: almost every open finds nothing to do.
      if ((await read(() => changedSchedules(db, schedules))).length === 0) return
      await writeAndTell(
        () => planSchedules(db, schedules, now()),
        (changed) => (changed ? { kind: 'schedules' } : null),
      )
    },
    async fireSchedules(tasks) {
      const { due, nextInMs } = await read(() => dueSchedules(db, tasks, now()))
      if (due.length === 0) return { fired: [], nextInMs }
      return writeAndTell(
        () => fireSchedules(db, due, tasks, now(), intended),
        ({ fired }) => (fired.length > 0 ? { kind: 'work' } : null),
      )
    },
    triggerSchedule: (task) =>
      writeAndTell(
        () => triggerSchedule(db, task, now(), intended),
        (answer) => (answer?.created ? { kind: 'work' } : null),
      ),
    listSchedules: () => read(() => listSchedules(db)),
    setSchedulePaused: (name, paused) =>
      writeAndTell(
        () => setSchedulePaused(db, name, paused, now()),
        () => (paused ? null : { kind: 'schedules' }),
      ),
  }
}
