import { readRowId } from '../../model/row.ts'
import type { Wait, WaitRecord } from '../../model/wait.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import { childrenAreOver } from './children-over.ts'
import type { CounterChange } from './counter-change.ts'
import { takeSignal } from './take-signal.ts'

/** What each database does in its own way when suspended tasks become queued. */
export interface ResumingTasks {
  /** The ranks of tasks that become queued now. */
  ranksIn(tasks: readonly RankedTask[], now: number): Script<readonly number[]>
  /** Adds to the counters of lanes. */
  count(changes: readonly CounterChange[]): Script<void>
}

/** A rank follows from these. */
export interface RankedTask {
  readonly queue: string
  readonly priority: number
}

/** In a transaction that has locked the item. A row whose wait timed out may still have its former ones. */
export function* keepWaits(db: Dialect, item: string, waits: readonly Wait[], now: number): Script<void> {
  const task = readRowId(item) === null ? Number(item) : null
  if (task === null) yield* forgetWaits(db, [item])
  for (const { kind, name, number, until } of waits)
    yield* change(sql`
      INSERT INTO gleaner.waits (item, kind, name, number, task, since, until)
      VALUES (${item}, ${kind}, ${name}, ${number}, ${task}, ${now}, ${until})`)
}

export function* forgetWaits(db: Dialect, items: readonly string[]): Script<void> {
  if (items.length > 0) yield* change(sql`DELETE FROM gleaner.waits WHERE item ${db.oneOf(items)}`)
}

export function waitsOf(item: string): Script<WaitRecord[]> {
  return rows<WaitRecord>(sql`
    SELECT kind, name, number, since, until FROM gleaner.waits WHERE item = ${item} ORDER BY since, kind, name, number`)
}

/** In a transaction that has locked the item: one of these has come already, so the item need not wait. */
export function* hasArrived(db: Dialect, item: string, waits: readonly Wait[], now: number): Script<boolean> {
  let arrived = false
  for (const wait of waits) {
    if (wait.kind === 'signal' && (yield* takeSignal(db, item, wait, now))) arrived = true
    if (wait.kind === 'children' && (yield* childrenAreOver(db, item, wait))) arrived = true
  }
  return arrived
}

/**
 * In a transaction: these items no longer wait. Items that are not suspended stay as they are. Answers those that were resumed. Tell
 * the workers after the commit.
 */
export function* resumeItems(
  db: Dialect,
  resuming: ResumingTasks,
  items: readonly string[],
): Script<string[]> {
  const tasks = items.filter((item) => readRowId(item) === null)
  const resumed = [
    ...(yield* resumeTasks(db, resuming, tasks.map(Number))),
    ...(yield* resumeRows(items.filter((item) => readRowId(item) !== null))),
  ]
  yield* forgetWaits(db, resumed)
  return resumed
}

function* resumeTasks(db: Dialect, resuming: ResumingTasks, ids: readonly number[]): Script<string[]> {
  if (ids.length === 0) return []
  const found = yield* rows<RankedTask & { id: number; lane: number }>(sql`
    SELECT t.id, t.lane, t.priority, l.queue FROM gleaner.tasks AS t JOIN gleaner.lanes AS l ON l.id = t.lane
    WHERE t.id ${db.oneOf(ids)} AND t.status = 'suspended' ORDER BY t.id ${db.forUpdateOf('t')}`)
  if (found.length === 0) return []
  const now = yield* db.time()
  // A connection of the user's own may answer large numbers as texts.
  const rowids = found.map(({ id }) => Number(id))
  const ranks = yield* resuming.ranksIn(found, now)
  yield* change(sql`
    UPDATE gleaner.tasks AS t SET status = 'queued', rank = ${db.valueFor(sql`t.id`, rowids, ranks)}, run_after = ${now}
      ${db.schema.alsoWhenResumed}
    WHERE t.id ${db.oneOf(rowids)}`)
  yield* resuming.count(
    found.map(({ lane }) => ({ lane, counter: 'suspended', by: -1, arrived: true }) as const),
  )
  return rowids.map(String)
}

function* resumeRows(items: readonly string[]): Script<string[]> {
  const resumed: string[] = []
  for (const item of items) {
    const { discovery, key } = readRowId(item)!
    const changed = yield* change(sql`
      UPDATE gleaner.ledger SET blocked_until = 0, suspended = ${false}
      WHERE discovery = ${discovery} AND row_key = ${key} AND suspended = ${true}`)
    if (changed > 0) resumed.push(item)
  }
  return resumed
}
