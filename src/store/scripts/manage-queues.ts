import type { LaneFilter } from '../managing.ts'
import type { Scripts } from '../sql/scripts.ts'
import { countTasks, everythingIsPaused, listQueues, setPaused } from './counts.ts'

/** The verbs with which operators look at queues and pause them. */
export function managingQueues({ db, read, write, tell }: Scripts) {
  return {
    countTasks: (filter: LaneFilter) => read(() => countTasks(db, filter)),
    listQueues: () => read(() => listQueues(db)),
    everythingIsPaused: () => read(() => everythingIsPaused(db)),
    async setPaused(queue: string | null, paused: boolean) {
      await write(() => setPaused(db, queue, paused))
      tell({ kind: 'work' })
    },
  }
}
