import type { BulkChange, BulkStep, BulkStepDone, Refusal } from '../../contract.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { holderOf } from '../tasks/enqueue.ts'
import { rowid, rowOf } from '../tasks/task-records.ts'
import { listIds } from './list.ts'
import { cancelTask, removeTask, retryTask } from './manage.ts'

/** What a step did that others wait for. */
export interface BulkEffect {
  answer: BulkStepDone
  ended: string[]
  requested: boolean
}

/** What became of one task. `already`: there is nothing to do. */
type Done = 'changed' | 'requested' | 'already' | Omit<Refusal, 'id'>

/** Inside a write transaction; a dry run inside a read. */
export function changeTasks(db: Statements, memory: Memory, step: BulkStep, now: number): BulkEffect {
  const { change, filter, page, dryRun } = step
  const upTo = step.upTo ?? String(highestId(db))
  const { ids, next } = listIds(db, memory, filter, page, now)
  const refused: Refusal[] = []
  const ended: string[] = []
  let changed = 0
  let requested = false
  for (const id of ids.filter((one) => one <= rowid(upTo)).map(String)) {
    const done =
      dryRun === null ? changeOne(db, memory, change, id, now) : wouldChange(db, change, id, dryRun.taken)
    if (typeof done === 'object') refused.push({ id, ...done })
    else if (done !== 'already') changed += 1
    if (done === 'requested') requested = true
    if (done === 'changed' && change !== 'retry') ended.push(id)
  }
  return { answer: { changed, refused, passedOver: 0, next, upTo }, ended, requested }
}

function highestId(db: Statements): number {
  return (db.scalar('SELECT max(id) FROM gleaner_tasks').get() as number | null) ?? 0
}

function changeOne(db: Statements, memory: Memory, change: BulkChange, id: string, now: number): Done {
  if (change === 'cancel') {
    if (rowOf(db, id)!.cancel_requested === 1) return 'already'
    return cancelTask(db, id, now) === 'requested' ? 'requested' : 'changed'
  }
  if (change === 'remove') {
    return removeTask(db, id) === 'running' ? { reason: 'running', by: null } : 'changed'
  }
  const answer = retryTask(db, memory, id, now)
  return typeof answer === 'object' ? { reason: 'key-held', by: answer.keyHeldBy } : 'changed'
}

function wouldChange(db: Statements, change: BulkChange, id: string, taken: Map<string, string>): Done {
  const row = rowOf(db, id)!
  if (change === 'cancel') return row.cancel_requested === 1 ? 'already' : 'changed'
  if (change === 'remove') return row.fence !== null ? { reason: 'running', by: null } : 'changed'
  if (row.key === null) return 'changed'
  const active = holderOf(db, row.key)
  const holder = active !== null && active !== row.id ? String(active) : taken.get(row.key)
  if (holder !== undefined) return { reason: 'key-held', by: holder }
  taken.set(row.key, id)
  return 'changed'
}
