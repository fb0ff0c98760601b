import { StoreError } from '../../../errors.ts'
import type { TaskStatus } from '../../../model/task.ts'
import {
  COPIED_TABLES,
  type Copied,
  type CopiedTable,
  type CopyTarget,
  type LastNumbers,
} from '../../copied-tables.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import { SHARE_LINES } from '../migrations/028-lines.ts'
import { migrations } from '../migrations/index.ts'
import { migrate, versionOf } from '../migrations/migrate.ts'
import { Database } from '../server/database.ts'
import type { TransactionOptions } from '../server/settings.ts'
import { type Sql, unnest, withoutNul } from '../server/sql.ts'

/** Of one row of `finished`, as many as workers hand in together. */
const FILED_TOGETHER = 500

const UNHURRIED: TransactionOptions = { unhurried: true }

const FILLED = COPIED_TABLES.filter(({ seeded }) => !seeded)

/** Makes the tables if need be, and commits what `work` wrote to them, or nothing. */
export function intoEmptySchema<T>(
  options: PostgresOptions,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  return withDatabase(options, async (database) => {
    await migrate(database)
    return database.transaction(async (sql) => {
      await lockTables(sql)
      await refuseFull(sql)
      return work(targetOf(sql))
      // A server may need its time for what is reckoned at the end.
    }, UNHURRIED)
  })
}

/** Writes nothing. */
export function checkEmpty(options: PostgresOptions): Promise<void> {
  return withDatabase(options, async ({ sql }) => {
    const latest = migrations.at(-1)!.version
    if ((await versionOf(sql, latest)) === latest) await refuseFull(sql)
  })
}

async function withDatabase<T>(
  options: PostgresOptions,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const database = new Database({ ...options, poolSize: 2 })
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** Whoever else has it open can look, and waits to write: what he wrote would meet what is copied. */
async function lockTables(sql: Sql): Promise<void> {
  const names = COPIED_TABLES.map(({ name }) => `gleaner.${name}`)
  await sql.run(`LOCK TABLE ${names.join(', ')} IN SHARE ROW EXCLUSIVE MODE`)
}

async function refuseFull(sql: Sql): Promise<void> {
  const looks = FILLED.map(
    ({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM gleaner.${name})`,
  )
  const full = await sql.rows<{ name: string }>(looks.join(' UNION ALL '))
  if (full.length === 0) return
  throw new StoreError(
    `copy: the schema ${sql.schema} of the target is not empty (${full.map(({ name }) => name).join(', ')})`,
    {
      code: 'STORE_NOT_EMPTY',
      hint: 'Nothing was copied. Name a schema that is not there yet (?schema=…), or drop this one if nothing in it is needed.',
    },
  )
}

interface Column {
  name: string
  type: string
}

function targetOf(sql: Sql): CopyTarget {
  const known = new Map<string, readonly Column[]>()
  return {
    async columnsOf({ name }) {
      const columns = await readColumns(sql, name)
      known.set(name, columns)
      return columns.map((column) => column.name)
    },
    async write(table, columns, rows) {
      const types = new Map(known.get(table.name)!.map(({ name, type }) => [name, type]))
      await insert(sql, table, { columns, types }, rows)
    },
    async conclude(last) {
      await sql.run(FINISHED)
      await sql.run(COUNTERS)
      for (const text of SHARE_LINES.split(';')) await sql.run(text)
      await goOnAfter(sql, last)
      // The planner would take them for empty, until the server gets round to it.
      for (const { name } of COPIED_TABLES) await sql.run(`ANALYZE gleaner.${name}`)
    },
    count: () => count(sql),
  }
}

function readColumns(sql: Sql, table: string): Promise<Column[]> {
  return sql.rows<Column>(
    `SELECT attname AS name, pg_catalog.format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [`"${sql.schema}"."${table}"`],
  )
}

async function insert(
  sql: Sql,
  { name, key, seeded }: CopiedTable,
  { columns, types }: { columns: readonly string[]; types: ReadonlyMap<string, string> },
  rows: readonly (readonly unknown[])[],
): Promise<void> {
  const names = columns.map((column) => `"${column}"`).join(', ')
  const lists = columns.map((column, i) => `$${i + 1}::${types.get(column)}[]`)
  const over = columns.map((column) => `"${column}" = excluded."${column}"`).join(', ')
  await sql.run(
    `INSERT INTO gleaner.${name} (${names}) OVERRIDING SYSTEM VALUE SELECT * FROM ${unnest(lists)}
     ${seeded ? `ON CONFLICT ("${key.join('", "')}") DO UPDATE SET ${over}` : ''}`,
    columns.map((_, i) => rows.map((row) => (typeof row[i] === 'string' ? withoutNul(row[i]) : row[i]))),
  )
}

const FINISHED = `INSERT INTO gleaner.finished (lane, status, finished_at, tasks)
  SELECT lane, status, finished_at, pg_catalog.array_agg(id ORDER BY id) FROM (
    SELECT id, lane, status, finished_at,
      (pg_catalog.row_number() OVER (PARTITION BY lane, status, finished_at ORDER BY id) - 1) / ${FILED_TOGETHER} AS part
    FROM gleaner.tasks WHERE finished_at IS NOT NULL) ended
  GROUP BY lane, status, finished_at, part`

const COUNTERS = `UPDATE gleaner.lanes SET created = n.created, scheduled = n.scheduled, suspended = n.suspended, completed = n.completed,
    failed = n.failed, cancelled = n.cancelled
  FROM (SELECT lane, pg_catalog.count(*) AS created, ${[
    'scheduled',
    'suspended',
    'completed',
    'failed',
    'cancelled',
  ]
    .map((status) => `pg_catalog.count(*) FILTER (WHERE status = '${status}') AS ${status}`)
    .join(', ')} FROM gleaner.tasks GROUP BY lane) n WHERE n.lane = lanes.id`

/** What is new gets higher numbers than all that was ever given away. */
async function goOnAfter(sql: Sql, { fence, task }: LastNumbers): Promise<void> {
  const numbered = await sql.rows<{ name: string; column: string }>(
    `SELECT c.relname AS name, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = $1::regnamespace AND a.attidentity <> '' AND c.relname = ANY($2)`,
    [`"${sql.schema}"`, COPIED_TABLES.map(({ name }) => name)],
  )
  for (const { name, column } of numbered) {
    const row = await sql.row<{ last: number | null }>(
      `SELECT pg_catalog.max("${column}") AS last FROM gleaner.${name}`,
    )
    const last = Math.max(row?.last ?? 0, name === 'tasks' ? task : 0)
    if (last > 0)
      await sql.run('SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence($1, $2), $3)', [
        `"${sql.schema}"."${name}"`,
        column,
        last,
      ])
  }
  if (fence > 0) await sql.run(`SELECT pg_catalog.setval('gleaner.fence', $1)`, [fence])
  await sql.run(`SELECT pg_catalog.setval('gleaner.turns', last) FROM (SELECT pg_catalog.max(turn) AS last FROM gleaner.turnstiles) t
                 WHERE last > 0`)
}

async function count(sql: Sql): Promise<Omit<Copied, 'dryRun'>> {
  const tasks = await sql.rows<{ status: TaskStatus; n: number }>(
    'SELECT status, pg_catalog.count(*) AS n FROM gleaner.tasks GROUP BY status',
  )
  const tables: Record<string, number> = {}
  for (const { name } of FILLED) {
    tables[name] = (await sql.row<{ n: number }>(`SELECT pg_catalog.count(*) AS n FROM gleaner.${name}`))!.n
  }
  return { tasks: Object.fromEntries(tasks.map(({ status, n }) => [status, n])), tables }
}
