import type { ChangingTasks } from '../../scripts/task-changes.ts'
import type { ResumingTasks } from '../../scripts/waits.ts'
import { native } from '../../sql/script.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { holderOf } from '../tasks/enqueue.ts'
import { Tally } from '../tasks/tally.ts'
import { removeRows } from './remove.ts'

export function sqliteResuming({ queues }: Pick<Memory, 'queues'>): ResumingTasks {
  return {
    ranksIn: (tasks, now) =>
      native(() => {
        queues.knowing()
        return tasks.map(({ queue, priority }) => queues.draw(queue, priority, now))
      }),
    count,
  }
}

const count: ChangingTasks['count'] = (changes) =>
  native((db: Statements) => {
    const tally = new Tally()
    for (const { lane, counter, by, arrived = false } of changes) {
      tally.add(lane, counter, by)
      if (arrived) tally.arrived(lane)
    }
    tally.write(db)
  })

export function sqliteChanging({ lanes, queues }: Memory): ChangingTasks {
  return {
    lanesMatching: (filter) => native(() => lanes.matching(filter)),
    lane: (id) => native(() => lanes.get(id)),
    queues: () =>
      native(() => {
        queues.knowing()
        return queues
      }),
    keyHolders: (keys) =>
      native((db: Statements) => {
        const holders = keys.map((key) => [key, holderOf(db, key)] as const)
        return new Map(holders.flatMap(([key, id]) => (id === null ? [] : [[key, String(id)] as const])))
      }),
    ranks: (tasks, now) =>
      native(() => {
        queues.knowing()
        return tasks.map(({ lane, priority }) => queues.draw(lanes.get(lane).queue, priority, now))
      }),
    // Differs because an index of SQLite has the finished tasks in their order.
    listAsFinished: () => native(() => undefined),
    takeOffFinished: () => native(() => undefined),
    count,
    remove: (ids) => native((db: Statements) => removeRows(db, ids)),
  }
}
