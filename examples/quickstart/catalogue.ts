// Work without an enqueue: the shop has a table of products, and those without a text need one.
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import pg from 'pg'
import { z } from 'zod'
import { type Discovery, defineDiscovery } from '../../src/index.ts' // in your own project: from 'gleaner'

export const PRODUCTS = 60

/** Creates the table at the first run. Each run marks every product as without a text. */
export async function stockUp(database: string): Promise<void> {
  await execute(database, statements(tableIn(database)))
}

/** Workers find the products that need a text in their table. */
export function describe(database: string): Discovery {
  return defineDiscovery({
    name: 'product.describe',
    table: tableIn(database),
    key: 'id',
    where: 'needs_text = 1',
    row: z.object({ id: z.number(), title: z.string() }),
    retry: { attempts: 3, base: '500ms' },
    async run({ id, title }, ctx) {
      await sleep(40 + ((id * 37) % 80), undefined, { signal: ctx.signal })
      if (id % 20 === 7 && ctx.attempt === 1) throw new Error('the translator is busy')
      if (id === 42) throw new Error('no translation found')
      return `${title}, and much more`
    },
    done: (text) => ({ text, needs_text: 0 }),
  })
}

const columns = 'id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT, needs_text INTEGER NOT NULL'
const stock = (table: string) => `INSERT INTO ${table} (id, title, needs_text)
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${PRODUCTS})
  SELECT n, 'product ' || n, 1 FROM numbers WHERE true
  ON CONFLICT (id) DO UPDATE SET needs_text = 1`
const statements = (table: string) => [
  `CREATE TABLE IF NOT EXISTS ${table} (${columns})`,
  `CREATE INDEX IF NOT EXISTS products_without_text ON ${table} (id) WHERE needs_text = 1`,
  stock(table),
]

function isSqlite(database: string): boolean {
  return database.startsWith('sqlite:')
}

/** On PostgreSQL the table is in Gleaner's schema, so that both are removed together. */
export function tableIn(database: string, table = 'products'): string {
  return isSqlite(database) ? table : `${schemaIn(database)}.${table}`
}

function schemaIn(database: string): string {
  return new URL(database).searchParams.get('schema') ?? 'gleaner'
}

export async function execute(database: string, statements: readonly string[]): Promise<void> {
  await (isSqlite(database) ? onSqlite(database, statements) : onPostgres(database, statements))
}

async function onSqlite(database: string, statements: readonly string[]): Promise<void> {
  const db = new Database(database.slice('sqlite:'.length))
  for (const sql of statements) db.exec(sql)
  db.close()
}

async function onPostgres(database: string, statements: readonly string[]): Promise<void> {
  const url = new URL(database)
  url.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schemaIn(database)}`)
  for (const sql of statements) await client.query(sql)
  await client.end()
}
