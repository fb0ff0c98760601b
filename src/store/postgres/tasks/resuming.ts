import type { CounterChange } from '../../scripts/counter-change.ts'
import type { ResumingTasks } from '../../scripts/waits.ts'
import { native, type Script } from '../../sql/script.ts'
import type { Sql } from '../server/sql.ts'
import type { Memory } from './memory.ts'
import { Tally } from './tally.ts'

export function postgresResuming({ queues }: Pick<Memory, 'queues'>): ResumingTasks {
  return {
    ranksIn: (tasks, now) =>
      native(async (sql: Sql) => {
        await queues.known(sql)
        const newcomers = tasks.map(({ queue, priority }) => ({ queue, priority, queuedAtMs: now }))
        return queues.drawAll(sql, newcomers)
      }),
    count: countChanges,
  }
}

export function countChanges(changes: readonly CounterChange[]): Script<void> {
  return native(async (sql: Sql) => {
    const tally = new Tally()
    for (const { lane, counter, by, arrived = false } of changes) {
      tally.add(lane, counter, by)
      if (arrived) tally.slots.arrived(lane)
    }
    await tally.write(sql)
    await tally.slots.write(sql)
  })
}
