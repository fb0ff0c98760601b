import { KEY_WITHOUT_MARK } from '../../follower.ts'
import { ALL_TIME } from '../../metrics-row.ts'
import type { Change } from '../../ports/change.ts'
import type { Effects } from '../../ports/exchange.ts'
import type { Dialect, GivenList, HeadOfEach, SchemaDifferences } from '../../sql/dialect.ts'
import { type Native, native, runSync, type Script, type Statement } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type Fragment, joined, sent, sql, type Value, verbatim } from '../../sql/sql.ts'
import type { Durability } from './connection.ts'
import type { Statements } from './statements.ts'

interface ScriptServices {
  db: Statements
  now: () => number
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T, isolated?: boolean) => Promise<T>
  /** Whether they enqueued something. */
  runEffects: (effects: Effects) => boolean
  tell: (change: Change) => void
}

export function sqliteScripts({ db, now, promised, read, write, tell, runEffects }: ScriptServices): Scripts {
  const answer = (step: Statement | Native<Statements>) => answerOf(db, step)
  const drive = <Answer>(script: () => Script<Answer>) => runSync(script(), answer)
  return {
    db: sqliteDialect(now),
    read: (script) => read(() => drive(script)),
    write: (script) => write(promised, () => drive(script)),
    writeCheaply: (script) => write('normal', () => drive(script)),
    writeStep: (script) => write('normal', () => drive(script)),
    async writeWithEffects(script) {
      let enqueued = false
      const run = (effects: Effects) =>
        native(() => {
          enqueued = runEffects(effects)
        })
      const answer = await write(promised, () => drive(() => script(run)), true)
      if (enqueued) tell({ kind: 'work' })
      return answer
    },
    tell,
  }
}

/** Inside a transaction that another verb began. */
export function driveOn<Answer>(db: Statements, script: Script<Answer>): Answer {
  return runSync(script, (step) => answerOf(db, step))
}

export function sqliteDialect(now: () => number): Dialect {
  return {
    get now() {
      return sql`${now()}`
    },
    // biome-ignore lint/correctness/useYield: the process has the time, and asks nothing
    *time() {
      return now()
    },
    forUpdate: verbatim(''),
    forUpdateOf: () => verbatim(''),
    skipLocked: verbatim(''),
    oneOf,
    given,
    valueFor,
    headOfEach,
    holds: (text, needle) => sql`instr(lower(${text}), ${needle}) > 0`,
    // The transaction holds the only write lock.
    *lockItem() {},
    schema,
    versionOf: (alias) => verbatim(`${alias}.row_version`),
    keepsSession: () => verbatim(''),
    bytewise: verbatim(''),
  }
}

function oneOf(values: readonly (string | number)[]): Fragment {
  return sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
}

function given(alias: string, lists: readonly GivenList[]): Fragment {
  const rows = lists[0]!.values.map((_, row) => lists.map(({ values }) => values[row]))
  const columns = lists.map(
    ({ name }, index) => sql`value ->> ${verbatim(String(index))} AS ${verbatim(name)}`,
  )
  return sql`(SELECT ${joined(columns, ', ')} FROM json_each(${JSON.stringify(rows)})) AS ${verbatim(alias)}`
}

/** Differs because SQLite may begin a join with the larger table, and a join with a list has no order of its own in an UPDATE. */
function valueFor(id: Fragment, ids: readonly number[], values: readonly number[]): Fragment {
  const byId = JSON.stringify(Object.fromEntries(ids.map((one, index) => [one, values[index]])))
  return sql`${byId} ->> CAST(${id} AS TEXT)`
}

/** Differs because SQLite has no LATERAL: a function that returns a table is the only join that can use a row before it. */
function headOfEach({ lanes, from, where, order, count, columns }: HeadOfEach): Fragment {
  return sql`
    SELECT ${columns} FROM ${lanes} CROSS JOIN json_each((
      SELECT json_group_array(id) FROM (
        SELECT t.id FROM ${from} WHERE t.lane = l.lane AND ${where} ORDER BY ${order} LIMIT ${count}))) AS one
    CROSS JOIN gleaner.tasks AS t ON t.id = one.value`
}

/** As the index has it. */
const DELAYED = sql`t.status IN ('scheduled', 'suspended') AND t.run_after IS NOT NULL`

const schema: SchemaDifferences = {
  settings: verbatim('gleaner.meta'),
  ready: sql`t.status = 'queued' AND t.fence IS NULL AND t.suspect = 0`,
  suspect: sql`t.status = 'queued' AND t.fence IS NULL AND t.suspect = 1`,
  leading: sql`t.leads = 1`,
  behind: sql`t.leads = 0`,
  scheduled: sql`t.status = 'scheduled' AND ${DELAYED}`,
  delayed: DELAYED,
  hasActiveKey: (keys) =>
    sql`t.key ${oneOf(keys)} AND t.status IN ('scheduled', 'queued', 'running', 'suspended')`,
  finished: {
    from: sql`gleaner.tasks AS t`,
    at: sql`t.finished_at`,
    withStatus: (status) => sql`t.status = ${status} AND t.finished_at IS NOT NULL`,
  },
  // Differs because a large input has a row of its own, so that a change of its task does not rewrite it.
  input: sql`CASE WHEN t.input = '' THEN (SELECT i.input FROM gleaner.inputs AS i WHERE i.task = t.id) ELSE t.input END`,
  // Differs because a single enqueue does not write the counters.
  counterParts: sql`
    SELECT id AS lane, queue, name, requires, created, scheduled, suspended, completed, failed, cancelled FROM gleaner.lanes
    UNION ALL SELECT lane, NULL, NULL, NULL, count(*), 0, 0, 0, 0, 0 FROM gleaner.tasks
    WHERE id > (SELECT value FROM gleaner.meta WHERE key = 'counted_through') GROUP BY lane`,
  gateHeld: sql`g.held`,
  measuredSince: (minute) => sql`SELECT * FROM gleaner.minutes WHERE minute >= ${minute}`,
  measuredEver: sql`SELECT * FROM gleaner.minutes WHERE minute = ${ALL_TIME}`,
  alsoWhenQueued: verbatim(''),
  alsoWhenResumed: verbatim(', suspect = CASE WHEN leads = 0 THEN 2 ELSE suspect END'),
  alsoWhenScheduled: verbatim(''),
  alsoWhenSuspended: () => verbatim(''),
  alsoWhenKeyReturns: verbatim(''),
  alsoWhenFinished: verbatim(`, key = ${KEY_WITHOUT_MARK}, leads = NULL`),
  // Differs because 'suspect' keeps the tasks that wait behind others out of the two indexes that claims walk.
  alsoWhenLeading: verbatim(`, suspect = CASE WHEN suspect >= 2 THEN suspect - 2 ELSE suspect END`),
  whenRetried: verbatim(
    `suspect = CASE WHEN order_key IS NULL THEN crashes > 0 ELSE 2 + (crashes > 0) END, leads = CASE WHEN order_key IS NOT NULL THEN 0 END`,
  ),
}

function answerOf(db: Statements, step: Statement | Native<Statements>): unknown {
  if ('native' in step) return step.native(db)
  const statement = db.sql(textOf(step.sql))
  const values = step.sql.values.map(stored)
  return step.wants === 'rows' ? statement.all(...values) : statement.run(...values).changes
}

function textOf({ texts }: Fragment): string {
  return sent(texts.join('?').replaceAll('gleaner.', 'gleaner_').replaceAll('pg_catalog.', ''))
}

/** SQLite has no booleans. */
function stored(value: Value): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}
