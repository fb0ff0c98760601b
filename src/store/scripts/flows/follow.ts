import { unfinishedIn, unsuccessfulOf } from '../../../model/flow.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import { change, one, type Script } from '../../sql/script.ts'
import { sql, verbatim } from '../../sql/sql.ts'
import type { FlowRow } from '../flow-row.ts'
import { forgetFlow } from './cancel.ts'
import type { SettlingFlows } from './settling.ts'

/** What a batch enqueued because its tasks ended. */
export interface Followed {
  enqueued: boolean
}

/** `then` when all are completed, `catch` when the first one ended in another way. Each is enqueued once. */
export function* followBatch(settling: SettlingFlows, flow: FlowRow): Script<Followed> {
  const { db } = settling
  const followers = JSON.parse(flow.followers ?? '{}') as {
    completed?: NewTask | null
    failed?: NewTask | null
  }
  let enqueued = false
  if (followers.failed && flow.catch_task === null && unsuccessfulOf(flow) > 0) {
    yield* enqueue(settling, flow, { task: followers.failed, column: 'catch_task' })
    enqueued = true
  }
  if (followers.completed && flow.then_task === null && flow.completed === flow.total) {
    const id = yield* enqueue(settling, flow, { task: followers.completed, column: 'then_task' })
    yield* change(sql`UPDATE gleaner.flows SET waiter = ${id} WHERE id = ${flow.id}`)
    enqueued = true
  }
  const resolved = unfinishedIn(flow) === 0 ? db.now : sql`NULL`
  yield* change(sql`UPDATE gleaner.flows SET resolved_at = ${resolved} WHERE id = ${flow.id}`)
  if (yield* isOutlived(flow)) yield* forgetFlow(flow.id)
  return { enqueued }
}

function* enqueue(
  { insert }: SettlingFlows,
  flow: FlowRow,
  { task, column }: { task: NewTask; column: 'then_task' | 'catch_task' },
): Script<string> {
  const { id, name, total, completed, failed, cancelled, removed } = flow
  const input = JSON.stringify({ batch: String(id), name, total, completed, failed, cancelled, removed })
  const [enqueued] = (yield* insert([{ ...task, input, flow: 0 }])) as [Enqueued]
  yield* change(sql`UPDATE gleaner.flows SET ${verbatim(column)} = ${Number(enqueued.id)} WHERE id = ${id}`)
  return enqueued.id
}

/** Nothing is left of its tasks, and no task of its own needs it. */
function* isOutlived(flow: FlowRow): Script<boolean> {
  const { id, waiter } = flow
  if (waiter !== null || unfinishedIn(flow) > 0) return false
  const left = yield* one<{ task: number }>(sql`
    SELECT m.task FROM gleaner.flow_members AS m JOIN gleaner.tasks AS t ON t.id = m.task WHERE m.flow = ${id} LIMIT 1`)
  return left === undefined
}
