import { readRowId } from '../../model/row.ts'
import type { KeptSignal } from '../../model/wait.ts'
import type { NewSignal, SignalAnswer } from '../ports/signals.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'
import { rowid, storedKey } from '../task-row.ts'
import { takeSignal } from './take-signal.ts'
import { type ResumingTasks, resumeItems } from './waits.ts'

/** In a transaction: a signal is stored, and an item that waits for it is resumed. Tell the workers after the commit. */
export function* deliverSignal(
  db: Dialect,
  resuming: ResumingTasks,
  { to, name, payload }: NewSignal,
): Script<SignalAnswer> {
  const item = 'item' in to ? to.item : yield* holderOfKey(db, to)
  if (item === null) return 'gone'
  const state = yield* readRowId(item) === null ? lockTask(db, item) : lockRow(db, item)
  if (state === 'gone' || state === 'finished') return state
  yield* change(sql`
    INSERT INTO gleaner.signals (item, name, payload, version, sent_at)
    VALUES (${item}, ${name}, ${payload}, ${state.version}, ${db.now})`)
  const wait = yield* one<{ number: number }>(sql`
    SELECT number FROM gleaner.waits WHERE item = ${item} AND kind = 'signal' AND name = ${name} ORDER BY number LIMIT 1`)
  if (wait === undefined) return 'kept'
  const { number } = wait
  if (!(yield* takeSignal(db, item, { name, number }, yield* db.time()))) return 'kept'
  yield* resumeItems(db, resuming, [item])
  return 'resumes'
}

/** A task that took its key for ever may have finished. */
function* holderOfKey(db: Dialect, { task, key }: { task: string; key: string }): Script<string | null> {
  const stored = storedKey({ name: task, key })!
  const active = yield* one<{ id: number }>(
    sql`SELECT t.id FROM gleaner.tasks AS t WHERE ${db.schema.hasActiveKey([stored])}`,
  )
  const holder =
    active ??
    (yield* one<{ id: number }>(sql`SELECT task AS id FROM gleaner.forever_keys WHERE key = ${stored}`))
  return holder === undefined ? null : String(holder.id)
}

type State = 'gone' | 'finished' | { version: string | null }

function* lockTask(db: Dialect, item: string): Script<State> {
  const task = yield* one<{ finished_at: number | null }>(sql`
    SELECT finished_at FROM gleaner.tasks WHERE id = ${rowid(item)} ${db.forUpdate}`)
  if (task === undefined) return 'gone'
  return task.finished_at === null ? { version: null } : 'finished'
}

/** Of a row that is neither claimed nor in the ledger nothing is known: the signal belongs to the version that is claimed next. */
function* lockRow(db: Dialect, item: string): Script<State> {
  yield* db.lockItem(item)
  const { discovery, key } = readRowId(item)!
  const of = (table: Fragment) =>
    one<{ version: string | null }>(sql`
      SELECT ${db.versionOf('c')} AS version FROM ${table} AS c WHERE c.discovery = ${discovery} AND c.row_key = ${key}`)
  return (yield* of(sql`gleaner.claims`)) ?? (yield* of(sql`gleaner.ledger`)) ?? { version: null }
}

export function* signalsOf(item: string): Script<KeptSignal[]> {
  const found = yield* rows<{ name: string; payload: string | null; sent_at: number }>(
    sql`SELECT name, payload, sent_at FROM gleaner.signals WHERE item = ${item} ORDER BY id`,
  )
  return found.map(({ name, payload, sent_at }) => ({ name, payload, sentAt: sent_at }))
}
