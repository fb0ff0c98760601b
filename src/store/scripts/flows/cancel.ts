import { change, one, rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { cancelTasks } from '../task-changes.ts'
import type { SettleEffect, SettlingFlows } from './settling.ts'

/** Tasks that one transaction cancels. */
const CANCELLED_MAX = 500

interface Cancelling {
  id: number
  cancelling: number
  dropped: boolean | number
}

/** Goes on with one flow whose unfinished tasks are to be cancelled. Tasks that another transaction has locked come next time. */
export function* cancelMembers(settling: SettlingFlows, effect: SettleEffect): Script<void> {
  const { db } = settling
  const flow = yield* one<Cancelling>(sql`
    SELECT id, cancelling, dropped FROM gleaner.flows WHERE cancelling IS NOT NULL ORDER BY id LIMIT 1
    ${db.forUpdate} ${db.skipLocked}`)
  if (flow === undefined) return
  effect.more = true
  const members = yield* rows<{ task: number }>(sql`
    SELECT task FROM gleaner.flow_members
    WHERE flow = ${flow.id} AND task > ${flow.cancelling} AND joined = 0 AND counted IS NULL ORDER BY task LIMIT ${CANCELLED_MAX}`)
  const tasks = members.map(({ task }) => task)
  if (tasks.length > 0) {
    const { ended, requested, lockedFrom } = yield* cancelTasks(db, settling.changing, tasks)
    effect.ended.push(...ended)
    if (requested) effect.requested = true
    const through = lockedFrom === null ? tasks.at(-1)! : lockedFrom - 1
    yield* change(sql`UPDATE gleaner.flows SET cancelling = ${through} WHERE id = ${flow.id}`)
  } else if (flow.dropped) yield* forgetFlow(flow.id)
  else yield* change(sql`UPDATE gleaner.flows SET cancelling = NULL WHERE id = ${flow.id}`)
}

export function* forgetFlow(id: number): Script<void> {
  yield* change(sql`DELETE FROM gleaner.flow_members WHERE flow = ${id}`)
  yield* change(sql`DELETE FROM gleaner.flows WHERE id = ${id}`)
}
