import type { ChangingTasks } from '../../scripts/task-changes.ts'
import { native } from '../../sql/script.ts'
import type { Statements } from '../file/statements.ts'
import { sqliteKeyHolders } from '../tasks/enqueue.ts'
import type { Memory } from '../tasks/memory.ts'
import { countChanges } from '../tasks/resuming.ts'
import { Tally } from '../tasks/tally.ts'
import { removeRows } from './remove.ts'

export function sqliteChanging({ lanes, queues }: Memory): ChangingTasks {
  return {
    lanesMatching: (filter) => native(() => lanes.matching(filter)),
    lane: (id) => native(() => lanes.get(id)),
    queues: () =>
      native(() => {
        queues.knowing()
        return queues
      }),
    keyHolders: sqliteKeyHolders,
    ranks: (tasks, now) =>
      native(() => {
        queues.knowing()
        return tasks.map(({ lane, priority }) => queues.draw(lanes.get(lane).queue, priority, now))
      }),
    // Differs because an index of SQLite has the finished tasks in their order.
    listAsFinished: () => native(() => undefined),
    takeOffFinished: () => native(() => undefined),
    count: countChanges,
    freeOrders: (keys) =>
      native((db: Statements) => {
        const tally = new Tally()
        tally.free(keys)
        tally.write(db)
      }),
    remove: (ids) => native((db: Statements) => removeRows(db, ids)),
  }
}
