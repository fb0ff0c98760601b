import type { Change } from '../../contract.ts'
import type { Recurring } from '../../schedule-row.ts'
import type { Memory } from '../memory.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
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
  sql: Sql
  memory: Memory
  clockMs: () => number | null
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
  spread: (change: Change) => void
}

export function recurring({ sql, memory, clockMs, read, write, spread }: RecurringServices): Recurring {
  return {
    async planSchedules(schedules) {
      const changed = await read(() => changedSchedules(sql, schedules))
      if (changed.length === 0) return
      await write((own) => planSchedules(own, changed, clockMs()))
      spread({ kind: 'schedules' })
    },
    async fireSchedules(tasks) {
      const { due, nextInMs } = await read(() => dueSchedules(sql, tasks, clockMs()))
      if (due.length === 0) return { fired: [], nextInMs }
      await read(() => memory.lanes.learn(tasks))
      const firing = await write((own) => fireSchedules(own, memory, due, tasks, clockMs()))
      if (firing.fired.length > 0) spread({ kind: 'work' })
      return firing
    },
    async triggerSchedule(task) {
      await read(() => memory.lanes.learn([task]))
      const answer = await write((own) => triggerSchedule(own, memory, task, clockMs()))
      if (answer?.created) spread({ kind: 'work' })
      return answer
    },
    listSchedules: () => read(() => listSchedules(sql)),
    async setSchedulePaused(name, paused) {
      const found = await write((own) => setSchedulePaused(own, name, paused, clockMs()))
      if (!paused) spread({ kind: 'schedules' })
      return found
    },
  }
}
