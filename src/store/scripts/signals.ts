import { readRowId } from '../../model/row.ts'
import type { KeptSignal, Wait } from '../../model/wait.ts'
import type { NewSignal, SignalAnswer } from '../ports/steps.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'

/** In a transaction: a signal is stored, and an item that waits for it is to be resumed. */
export function* sendSignal(db: Dialect, signal: NewSignal): Script<SignalAnswer> {
  const { item, name, payload } = signal
  const state = yield* readRowId(item) === null ? lockTask(db, item) : lockRow(db, item)
  if (state === 'gone' || state === 'finished') return state
  yield* change(sql`
    INSERT INTO gleaner.signals (item, name, payload, version, sent_at)
    VALUES (${item}, ${name}, ${payload}, ${state.version}, ${db.now})`)
  const wait = yield* one<{ number: number }>(sql`
    SELECT number FROM gleaner.waits WHERE item = ${item} AND kind = 'signal' AND name = ${name} ORDER BY number LIMIT 1`)
  if (wait === undefined) return 'kept'
  const { number } = wait
  return (yield* takeSignal(db, item, { name, number }, yield* db.time())) ? 'resumes' : 'kept'
}

type State = 'gone' | 'finished' | { version: string | null }

function* lockTask(db: Dialect, item: string): Script<State> {
  const task = yield* one<{ finished_at: number | null }>(sql`
    SELECT finished_at FROM gleaner.tasks WHERE id = ${Number(item)} ${db.forUpdate}`)
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

/**
 * In a transaction that has locked the item, or holds its claim: the oldest signal of this name becomes the result of the step that waits. A run
 * may ask for several of one name at the same time: each signal is taken once.
 */
export function* takeSignal(
  db: Dialect,
  item: string,
  { name, number }: Pick<Wait, 'name' | 'number'>,
  now: number,
): Script<boolean> {
  const signal = yield* one<{ payload: string | null }>(sql`
    DELETE FROM gleaner.signals WHERE id = (
      SELECT id FROM gleaner.signals WHERE item = ${item} AND name = ${name} ORDER BY id LIMIT 1
      ${db.forUpdate} ${db.skipLocked})
    RETURNING payload`)
  if (signal === undefined) return false
  yield* change(sql`
    INSERT INTO gleaner.steps (item, name, number, kind, value, attempt, started_at, kept_at)
    VALUES (${item}, ${name}, ${number}, 'signal', ${signal.payload}, 0, ${now}, ${now})
    ON CONFLICT (item, name, number) DO UPDATE SET kind = excluded.kind, value = excluded.value, kept_at = excluded.kept_at`)
  return true
}
