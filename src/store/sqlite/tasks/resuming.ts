import type { CounterChange } from '../../scripts/counter-change.ts'
import type { ResumingTasks } from '../../scripts/waits.ts'
import { native, type Script } from '../../sql/script.ts'
import type { Statements } from '../file/statements.ts'
import type { QueueCache } from './queue-cache.ts'
import { Tally } from './tally.ts'

export function sqliteResuming({ queues }: { queues: QueueCache }): ResumingTasks {
  return {
    ranksIn: (tasks, now) =>
      native(() => {
        queues.knowing()
        return tasks.map(({ queue, priority }) => queues.draw(queue, priority, now))
      }),
    count: countChanges,
  }
}

export function countChanges(changes: readonly CounterChange[]): Script<void> {
  return native((db: Statements) => {
    const tally = new Tally()
    for (const { lane, counter, by, arrived = false } of changes) {
      tally.add(lane, counter, by)
      if (arrived) tally.arrived(lane)
    }
    tally.write(db)
  })
}
