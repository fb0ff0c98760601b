import { decideHeld, type KeyHolder, type KeyHolders, type WhenHeld } from '../../../model/held-key.ts'
import { FOLLOW_MS, followerKey, THROTTLES_PRUNED_MAX, withoutMark } from '../../follower.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import type { Statements } from '../file/statements.ts'
import type { Tally } from './tally.ts'

/** Puts the task beside, behind or in the place of who holds its key. `insert` makes a row that has this key. */
export function enqueueHeld(
  db: Statements,
  task: NewTask & { whenHeld: WhenHeld },
  key: string,
  now: number,
  tally: Tally,
  insert: (task: NewTask, key: string) => number,
  write: (id: number, input: string | null) => void,
): Enqueued {
  const decision = decideHeld(task.whenHeld, holdersOf(db, key, now), now)
  switch (decision.do) {
    case 'keep':
      return { id: String(decision.id), created: false }
    case 'insert': {
      const id = insert(task, key)
      if (task.whenHeld.kind === 'throttle') noteThrottle(db, key, id, now, task.whenHeld.ms)
      return { id: String(id), created: true }
    }
    case 'follow':
      // Never at once: whoever moves it when it is due looks whether the other has ended.
      return {
        id: String(insert({ ...task, runAfter: task.runAfter ?? { ms: 1 } }, followerKey(key))),
        created: true,
      }
    case 'replace':
      write(decision.id, task.input)
      startAnew(db, decision.id)
      if (decision.runAt !== null) postpone(db, decision.id, decision.runAt, now, tally)
      return { id: String(decision.id), created: false }
  }
}

function holdersOf(db: Statements, key: string, now: number): KeyHolders {
  const active = (stored: string) =>
    holder(
      db
        .sql(`SELECT id, fence IS NOT NULL OR status = 'suspended' AS held, created_at FROM gleaner_tasks
              WHERE key = ? AND status IN ('scheduled', 'queued', 'running', 'suspended')`)
        .get(stored),
    )
  const scalar = (sql: string, ...values: unknown[]) =>
    (db.scalar(sql).get(...values) as number | undefined) ?? null
  return {
    active: active(key),
    follower: active(followerKey(key)),
    forever: scalar('SELECT task FROM gleaner_forever_keys WHERE key = ?', key),
    throttled: scalar('SELECT task FROM gleaner_throttles WHERE key = ? AND until > ?', key, now),
  }
}

function holder(row: unknown): KeyHolder | null {
  if (row === undefined) return null
  const { id, held, created_at } = row as { id: number; held: number; created_at: number }
  return { id, held: held === 1, createdAt: created_at }
}

function noteThrottle(db: Statements, key: string, task: number, now: number, ms: number): void {
  db.sql('INSERT OR REPLACE INTO gleaner_throttles (key, task, until) VALUES (?, ?, ?)').run(
    key,
    task,
    now + ms,
  )
  db.sql(`DELETE FROM gleaner_throttles WHERE key IN (
            SELECT key FROM gleaner_throttles WHERE until <= ? ORDER BY until LIMIT ${THROTTLES_PRUNED_MAX})`).run(
    now,
  )
}

/** What failed with the former input says nothing about this one. One that crashed is still run alone. */
function startAnew(db: Statements, id: number): void {
  db.sql(
    'UPDATE gleaner_tasks SET attempts = 0, crashes = 0, error = NULL WHERE id = ? AND attempts > 0',
  ).run(id)
}

function postpone(db: Statements, id: number, runAt: number, now: number, tally: Tally): void {
  const { status, lane } = db.sql('SELECT status, lane FROM gleaner_tasks WHERE id = ?').get(id) as {
    status: string
    lane: number
  }
  // It is due, and has waited for long enough.
  if (status === 'queued' && runAt <= now) return
  db.sql(`UPDATE gleaner_tasks SET status = 'scheduled', rank = NULL, run_after = ? WHERE id = ?`).run(
    runAt,
    id,
  )
  if (status === 'queued') tally.add(lane, 'scheduled', 1)
}

/** Whether the one before it has ended, so that it has the key now. Otherwise it waits a little longer. */
export function takesOver(db: Statements, id: number, key: string, now: number): boolean {
  const before = db
    .sql(
      `SELECT 1 FROM gleaner_tasks WHERE key = ? AND status IN ('scheduled', 'queued', 'running', 'suspended')`,
    )
    .get(withoutMark(key))
  if (before === undefined) db.sql('UPDATE gleaner_tasks SET key = ? WHERE id = ?').run(withoutMark(key), id)
  else db.sql('UPDATE gleaner_tasks SET run_after = ? WHERE id = ?').run(now + FOLLOW_MS, id)
  return before === undefined
}
