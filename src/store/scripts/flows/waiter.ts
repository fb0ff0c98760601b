import type { Failure } from '../../../model/task.ts'
import { one, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { rowid } from '../../task-row.ts'
import type { FlowRow } from '../flow-row.ts'
import { endSuspended } from '../task-changes.ts'
import type { SettlingFlows } from './settling.ts'

const WORDS = { failed: 'failed', cancelled: 'was cancelled', removed: 'was removed' } as const

/** A task that was to run after others, and does not run because one of them failed. Answers it if it was still waiting. */
export function* endWaiter(
  { db, changing }: SettlingFlows,
  { id, waiter }: FlowRow,
  decision: 'fail' | 'cancel',
): Script<string[]> {
  const task = rowid(waiter!)
  if (decision === 'cancel') return yield* endSuspended(db, changing, task, { status: 'cancelled' })
  const first = yield* one<{ task: number; counted: keyof typeof WORDS }>(sql`
    SELECT task, counted FROM gleaner.flow_members WHERE flow = ${id} AND counted IN ('failed', 'cancelled', 'removed')
    ORDER BY position LIMIT 1`)
  const message = `task ${first!.task}, after which it was to run, ${WORDS[first!.counted]}`
  const failure: Failure = { kind: 'permanent', message, stack: null }
  return yield* endSuspended(db, changing, task, { status: 'failed', failure })
}
