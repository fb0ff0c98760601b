import type { AdminStore } from '../ports/admin.ts'
import type { Scripts } from '../sql/scripts.ts'
import { everythingIsPaused, listQueues, setPaused } from './counts.ts'

/** The verbs with which operators look at queues and pause them. */
export function managingQueues({
  db,
  read,
  write,
  tell,
}: Scripts): Pick<AdminStore, 'listQueues' | 'everythingIsPaused' | 'setPaused'> {
  return {
    listQueues: () => read(() => listQueues(db)),
    everythingIsPaused: () => read(() => everythingIsPaused(db)),
    async setPaused(queue, paused) {
      await write(() => setPaused(db, queue, paused))
      tell({ kind: 'work' })
    },
  }
}
