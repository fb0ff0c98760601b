import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { openPostgresStore } from '../../src/store/postgres/store.ts'

/** More than this and it is dropped: what was deleted still lies there. */
const KEPT_MAX_BYTES = 4 * 2 ** 20

export interface Schema {
  /** Besides the engine's tables it has one of the user's: `notes`. */
  name: string
  /** The user's connection, which is kept with it: a new one costs as much as the emptying. */
  users: pg.Client
  tables: readonly string[]
  /** The rows that a new one has. */
  seeds: ReadonlyMap<string, string>
  /** All that stands in it, but for rows. */
  shape: string
}

/**
 * Schemas that were migrated once and are emptied after each test: to make one and to drop it takes nearly 200 ms, most of it
 * for files, and there are many hundred tests.
 */
const emptied: Schema[] = []

export async function takeSchema(url: string): Promise<Schema> {
  return emptied.pop() ?? newSchema(url)
}

/** It is as new, or gone. */
export async function giveBackSchema(schema: Schema): Promise<void> {
  const { name, users, tables } = schema
  await users.query('ROLLBACK')
  await users.query('DISCARD ALL')
  const there = await tablesIn(users, name)
  const foreign = there.filter((table) => !tables.includes(table))
  if (foreign.length > 0)
    await users.query(`DROP TABLE ${foreign.map((table) => `${name}."${table}"`).join(', ')} CASCADE`)
  const size = await users.query(
    `SELECT sum(pg_relation_size(c.oid)) AS bytes FROM pg_class c WHERE relnamespace = $1::regnamespace`,
    [name],
  )
  const isAsBefore = (await shapeOf(users, name)) === schema.shape
  if (!isAsBefore || Number(size.rows[0].bytes) > KEPT_MAX_BYTES) {
    await users.query(`DROP SCHEMA ${name} CASCADE`)
    return users.end()
  }
  await users.query(emptying(schema))
  emptied.push(schema)
}

async function newSchema(url: string): Promise<Schema> {
  const name = `t_${randomUUID().replaceAll('-', '')}`
  const users = new pg.Client({ connectionString: url })
  await users.connect()
  await users.query(`CREATE SCHEMA ${name}`)
  await (await openPostgresStore({ url, schema: name, poolSize: 2 })).close()
  await users.query(`CREATE TABLE ${name}.notes (id serial, text text NOT NULL)`)
  const tables = await tablesIn(users, name)
  const seeds = new Map<string, string>()
  for (const table of tables) {
    const { rows } = await users.query(`SELECT json_agg(t) AS rows FROM ${name}."${table}" t`)
    if (rows[0].rows !== null) seeds.set(table, JSON.stringify(rows[0].rows))
  }
  return { name, users, tables, seeds, shape: await shapeOf(users, name) }
}

/** Without triggers: some tables let nobody delete. */
function emptying({ name, tables, seeds }: Schema): string {
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
  return [
    'BEGIN',
    'SET LOCAL session_replication_role = replica',
    ...tables.map((table) => `DELETE FROM ${name}."${table}"`),
    ...[...seeds].map(
      ([table, rows]) =>
        `INSERT INTO ${name}."${table}" OVERRIDING SYSTEM VALUE
           SELECT * FROM json_populate_recordset(NULL::${name}."${table}", ${literal(rows)})`,
    ),
    `SELECT setval(c.oid, s.seqstart, false) FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
       WHERE c.relnamespace = '${name}'::regnamespace`,
    'COMMIT',
  ].join(';\n')
}

async function tablesIn(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') ORDER BY 1`,
    [schema],
  )
  return rows.map(({ relname }) => relname)
}

async function shapeOf(client: pg.Client, schema: string): Promise<string> {
  const { rows } = await client.query(
    `SELECT md5(string_agg(what, E'\\n' ORDER BY what)) AS shape FROM (
       SELECT concat_ws(' ', c.relname, c.relkind, a.attname, a.atttypid) AS what
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relnamespace = $1::regnamespace
       UNION ALL SELECT concat_ws(' ', 'relation', relname, reloptions) FROM pg_class WHERE relnamespace = $1::regnamespace
       UNION ALL SELECT concat_ws(' ', 'constraint', conname) FROM pg_constraint WHERE connamespace = $1::regnamespace
       UNION ALL SELECT concat_ws(' ', 'function', proname, md5(prosrc)) FROM pg_proc WHERE pronamespace = $1::regnamespace
       UNION ALL SELECT concat_ws(' ', 'trigger', tgname, tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
         WHERE c.relnamespace = $1::regnamespace) parts`,
    [schema],
  )
  return rows[0].shape
}
