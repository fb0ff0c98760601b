import type { ChangingTasks } from '../../scripts/task-changes.ts'
import type { Known } from '../../scripts/task-records.ts'
import { native } from '../../sql/script.ts'
import type { Sql } from '../server/sql.ts'
import { holdersOf, lockKeys } from '../tasks/enqueue.ts'
import { fileFinished, unfileFinished } from '../tasks/finished.ts'
import type { Memory } from '../tasks/memory.ts'
import { addToOrderOutbox } from '../tasks/order-outbox.ts'
import type { Newcomer } from '../tasks/queue-cache.ts'
import { countChanges } from '../tasks/resuming.ts'
import { removeRows } from './remove.ts'

function postgresKnown({ lanes, queues }: Pick<Memory, 'lanes' | 'queues'>): Known {
  return {
    lanesMatching: (filter) => native((sql: Sql) => lanes.matching(filter, sql)),
    lane: (id) => native((sql: Sql) => lanes.get(id, sql)),
    queues: () =>
      native(async (sql: Sql) => {
        await queues.refresh(sql)
        return queues
      }),
  }
}

export function postgresChanging({ lanes, queues }: Memory): ChangingTasks {
  return {
    ...postgresKnown({ lanes, queues }),
    keyHolders: (keys, transaction) =>
      native(async (sql: Sql) => {
        if (transaction) await lockKeys(sql, keys)
        const holders = await holdersOf(sql, keys)
        return new Map([...holders].map(([key, id]) => [key, String(id)]))
      }),
    ranks: (tasks, now) =>
      native(async (sql: Sql) => {
        await queues.known(sql)
        const newcomers: Newcomer[] = []
        for (const { lane, priority } of tasks)
          newcomers.push({ queue: (await lanes.get(lane, sql)).queue, priority, queuedAtMs: now })
        return queues.drawAll(sql, newcomers)
      }),
    listAsFinished: (tasks, { status, finishedAt }) =>
      native(async (sql: Sql) => {
        for (const [lane, ended] of Map.groupBy(tasks, (task) => task.lane)) {
          const ids = ended.map(({ id }) => id)
          await fileFinished(sql, { lane, status, finishedAt }, ids)
        }
      }),
    takeOffFinished: (tasks) =>
      native((sql: Sql) =>
        unfileFinished(
          sql,
          tasks.map(({ rowid, lane, status, finishedAt }) => ({
            id: rowid,
            lane,
            status,
            finished_at: finishedAt,
          })),
        ),
      ),
    count: countChanges,
    freeOrders: (keys) => native((sql: Sql) => addToOrderOutbox(sql, keys)),
    remove: (ids) => native((sql: Sql) => removeRows(sql, ids)),
  }
}
