import { ALL_TIME } from '../../metrics-row.ts'
import type { Change } from '../../ports/change.ts'
import type { Dialect, GivenList, HeadOfEach, SchemaDifferences } from '../../sql/dialect.ts'
import { type Native, native, one, run, type Script, type Statement } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type Fragment, joined, sql as statement, verbatim } from '../../sql/sql.ts'
import type { TransactionOptions } from './settings.ts'
import type { Sql } from './sql.ts'
import { ofCallback } from './sql-errors.ts'

interface ScriptServices {
  sql: Sql
  clockMs: () => number | null
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions) => Promise<T>
  spread: (change: Change) => void
  promised: boolean
}

export function postgresScripts({ sql, clockMs, read, write, spread, promised }: ScriptServices): Scripts {
  return {
    db: postgresDialect(clockMs),
    read: (script) => read(() => driveOn(sql, script())),
    write: (script) => write((own) => driveOn(own, script())),
    writeCheaply: (script) => write((own) => driveOn(own, script()), { durable: false }),
    writeStep: (script) => write((own) => driveOn(own, script()), { durable: false, byIndex: true }),
    writeWithEffects: (script) =>
      write(
        (own) =>
          driveOn(
            own,
            script((effects) => native(async () => void (await effects(ofCallback(own.raw))))),
          ),
        { durable: promised, runsUserSql: true },
      ),
    tell: spread,
  }
}

/** On a connection of another verb: inside its transaction, if it is in one. */
export function driveOn<Answer>(sql: Sql, script: Script<Answer>): Promise<Answer> {
  return run(script, (step) => answerOf(sql, step))
}

/** `clockMs`: the clock of a test, or null for the server's. */
export function postgresDialect(clockMs: () => number | null): Dialect {
  const now = () => {
    const ms = clockMs()
    return ms === null ? verbatim('gleaner.now_ms()') : statement`CAST(${ms} AS bigint)`
  }
  return {
    get now() {
      return now()
    },
    *time() {
      // A connection of the user's own may answer large numbers as texts.
      return (
        clockMs() ?? Number((yield* one<{ now: number }>(statement`SELECT gleaner.now_ms() AS now`))!.now)
      )
    },
    forUpdate: verbatim('FOR UPDATE'),
    forUpdateOf: (alias) => verbatim(`FOR UPDATE OF ${alias}`),
    skipLocked: verbatim('SKIP LOCKED'),
    oneOf,
    given,
    valueFor,
    headOfEach,
    // The letters of other alphabets stay as they are, as on SQLite.
    holds: (text, needle) =>
      statement`pg_catalog.strpos(pg_catalog.lower(${text} COLLATE "C"), ${needle}) > 0`,
    lockItem,
    schema,
    // Differs because rows without a version column are known by a hash of their values.
    versionOf: (alias) => verbatim(`COALESCE(CAST(${alias}.row_hash AS text), ${alias}.row_version)`),
    keepsSession: (alias) => verbatim(`FOR KEY SHARE OF ${alias}`),
    bytewise: verbatim('COLLATE "C"'),
  }
}

function* lockItem(item: string): Script<void> {
  yield* one(statement`
    SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
      'gleaner.items ' || CAST(${item} AS text), 1)) IS NULL AS locked`)
}

function oneOf(values: readonly (string | number)[]): Fragment {
  return statement`= ANY(${values})`
}

/** Several lists are syntax of the parser's own, which takes no schema. */
function given(alias: string, lists: readonly GivenList[]): Fragment {
  const parameters = lists.map(({ type, values }) => statement`CAST(${values} AS ${verbatim(type)}[])`)
  const unnest = verbatim(lists.length === 1 ? 'pg_catalog.unnest' : 'unnest')
  const names = lists.map(({ name }) => name).join(', ')
  return statement`${unnest}(${joined(parameters, ', ')}) AS ${verbatim(`${alias}(${names})`)}`
}

function valueFor(id: Fragment, ids: readonly number[], values: readonly number[]): Fragment {
  return statement`(CAST(${values} AS bigint[]))[pg_catalog.array_position(CAST(${ids} AS bigint[]), ${id})]`
}

function headOfEach({ lanes, from, where, order, count, columns }: HeadOfEach): Fragment {
  return statement`
    SELECT ${columns} FROM ${lanes} CROSS JOIN LATERAL (
      SELECT t.* FROM ${from} WHERE t.lane = l.lane AND ${where} ORDER BY ${order} LIMIT ${count}) AS t`
}

const COUNTERS = verbatim('created, scheduled, suspended, completed, failed, cancelled')
const MEASURED = verbatim('queue, name, enqueued, completed, failed, retried, durations, incidents')

/** Differs because no index may depend on a column that each completion changes: see `001-tasks.ts`. */
const schema: SchemaDifferences = {
  settings: verbatim('gleaner.settings'),
  ready: statement`t.in_line AND NOT t.suspect`,
  suspect: statement`t.in_line AND t.suspect`,
  leading: statement`t.leads`,
  behind: statement`NOT t.leads`,
  scheduled: statement`t.delayed AND t.status = 'scheduled'`,
  delayed: statement`t.delayed`,
  hasActiveKey: (keys) => statement`t.active_key ${oneOf(keys)}`,
  finished: {
    // Tasks that finished together share a row. OFFSET keeps the planner from reading the whole table for the join.
    from: statement`gleaner.finished AS f CROSS JOIN LATERAL pg_catalog.unnest(f.tasks) AS one(id) CROSS JOIN LATERAL (
      SELECT * FROM gleaner.tasks WHERE tasks.id = one.id AND tasks.finished_at = f.finished_at OFFSET 0) AS t`,
    at: statement`f.finished_at`,
    withStatus: (status) => statement`f.lane = l.lane AND f.status = ${status}`,
  },
  input: statement`t.input`,
  // Differs because changes of counters are added as rows: transactions that change the same row would wait for each other.
  counterParts: statement`
    SELECT id AS lane, queue, name, requires, ${COUNTERS} FROM gleaner.lanes
    UNION ALL SELECT lane, NULL, NULL, NULL, ${COUNTERS} FROM gleaner.tallies`,
  // Slots that are free again, and that no claim has taken into account yet, count as free.
  gateHeld: statement`
    g.held - (SELECT coalesce(pg_catalog.sum(n.freed), 0) FROM gleaner.gate_news AS n WHERE n.gate = g.id)`,
  measuredSince: (minute) => statement`
    SELECT * FROM gleaner.minutes WHERE minute >= ${minute}
    UNION ALL SELECT * FROM gleaner.minute_news WHERE minute >= ${minute}`,
  measuredEver: statement`
    SELECT * FROM gleaner.minutes WHERE minute = ${ALL_TIME}
    UNION ALL SELECT ${ALL_TIME}, ${MEASURED} FROM gleaner.minute_news`,
  alsoWhenQueued: statement`, in_line = true, delayed = false`,
  alsoWhenResumed: statement`, in_line = leads IS NOT FALSE, delayed = false`,
  alsoWhenScheduled: statement`, in_line = false, delayed = true`,
  alsoWhenSuspended: (delayed) => statement`, in_line = false, delayed = ${delayed}`,
  alsoWhenKeyReturns: statement`, active_key = key`,
  alsoWhenFinished: statement`, in_line = false, delayed = false, active_key = NULL, leads = NULL`,
  alsoWhenLeading: statement`, in_line = status = 'queued'`,
  whenRetried: statement`suspect = crashes > 0, in_line = order_key IS NULL, delayed = false,
    leads = CASE WHEN order_key IS NOT NULL THEN false END`,
}

function answerOf(sql: Sql, step: Statement | Native<Sql>): unknown {
  if ('native' in step) return step.native(sql)
  const text = textOf(step.sql)
  return step.wants === 'rows' ? sql.rows(text, step.sql.values) : sql.run(text, step.sql.values)
}

function textOf({ texts }: Fragment): string {
  return texts.reduce((text, next, index) => `${text}$${index}${next}`)
}
