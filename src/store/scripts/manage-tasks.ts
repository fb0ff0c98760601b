import type { PageRequest } from '../ports/page.ts'
import type { BulkStep, LaneFilter, LogRequest, TaskFilter } from '../ports/tasks.ts'
import type { Scripts } from '../sql/scripts.ts'
import { rowid } from '../task-row.ts'
import { countTasks } from './counts.ts'
import { limitsOn } from './limits.ts'
import { readLogs } from './logs.ts'
import { type ChangingTasks, cancelTask, changeTasks, removeTask, retryTask } from './task-changes.ts'
import { listTasks } from './task-list.ts'
import { readAttempts, readResults, readTask } from './task-records.ts'

/** The verbs with which operators look at tasks and change them. `noticed`: others may wait for tasks that run again. */
export function managingTasks(
  { db, read, write, tell }: Scripts,
  changing: ChangingTasks,
  noticed: () => void,
) {
  return {
    getTask: (id: string) => read(() => readTask(db, changing, rowid(id))),
    listTasks: (filter: TaskFilter, page: PageRequest) => read(() => listTasks(db, changing, filter, page)),
    countTasks: (filter: LaneFilter) => read(() => countTasks(db, filter)),
    taskLogs: (id: string, page: LogRequest) => read(() => readLogs(rowid(id), page)),
    taskAttempts: (id: string) => read(() => readAttempts(rowid(id))),
    limitsOn: (id: string) => read(() => limitsOn(db, rowid(id))),
    results: (ids: readonly string[]) => read(() => readResults(db, ids)),
    async retryTask(id: string) {
      const answer = await write(() => retryTask(db, changing, rowid(id)))
      if (answer === 'retried') {
        tell({ kind: 'work' })
        noticed()
      }
      return answer
    },
    async cancelTask(id: string) {
      const { answer, freed } = await write(() => cancelTask(db, changing, rowid(id)))
      if (answer === 'requested') tell({ kind: 'cancel' })
      if (answer === 'cancelled') tell({ kind: 'ended', ids: [id] })
      if (freed) tell({ kind: 'work' })
      return answer
    },
    async removeTask(id: string) {
      const { answer, freed } = await write(() => removeTask(db, changing, rowid(id)))
      if (answer === 'removed') tell({ kind: 'ended', ids: [id] })
      if (freed) tell({ kind: 'work' })
      return answer
    },
    async changeTasks(step: BulkStep) {
      const isDry = step.dryRun !== null
      const done = await (isDry ? read : write)(() => changeTasks(db, changing, step))
      const { answer, ended, requested, freed } = done
      if (ended.length > 0) tell({ kind: 'ended', ids: ended })
      if (requested) tell({ kind: 'cancel' })
      const isRetried = step.change === 'retry' && !isDry && answer.changed > 0
      if (freed || isRetried) tell({ kind: 'work' })
      if (isRetried) noticed()
      return answer
    },
  }
}
