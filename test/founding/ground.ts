import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import type { SupervisorSetup } from '../../src/supervisor/contract.ts'
import { type Estate, test as onFiles } from '../supervisor/estate.ts'

export const CONFIG = join(import.meta.dirname, 'programs/config.ts')

/** The table of the user's own, and what marks its rows. */
export interface Rows {
  fill(count: number, waiting?: number): Promise<void>
  /** How many are not done, and how many claims there are. */
  left(): Promise<number>
  claims(): Promise<number>
  /** The row no longer needs work. */
  finish(id: number): Promise<void>
}

export type Ground = Estate & { rows: Rows; options: Partial<SupervisorSetup> }

type Ask = (sql: string) => Promise<any[]>

/** A database of its own with a table of the user's. */
export const onDatabase = (name: 'SQLite' | 'PostgreSQL') =>
  onFiles.extend<{ ground: Ground }>({
    ground: async ({ estate }, use) => {
      const schema = `t_${randomUUID().replaceAll('-', '')}`
      const table = name === 'SQLite' ? 'files' : `${schema}.files`
      const client = name === 'SQLite' ? undefined : new pg.Client(inject('postgresUrl'))
      if (client !== undefined) {
        estate.database = `${inject('postgresUrl')}?schema=${schema}`
        await client.connect()
        await client.query(`CREATE SCHEMA ${schema}`)
      }
      const db = client === undefined ? estate.place.connect() : undefined
      const ask: Ask = async (sql) => {
        if (client !== undefined) return (await client.query(sql)).rows
        const statement = db!.prepare(sql)
        return statement.reader ? statement.all() : [statement.run()]
      }
      await ask(
        `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, waits INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0)`,
      )
      await ask(
        name === 'SQLite'
          ? 'CREATE INDEX files_todo ON files (id) WHERE done = 0'
          : `CREATE INDEX files_todo ON ${table} (id) WHERE done = 0`,
      )
      const claims = name === 'SQLite' ? 'gleaner_claims' : `${schema}.claims`
      const env = {
        FOUNDING_TABLE: table,
        FOUNDING_MARKS: estate.touch('marks'),
        FOUNDING_GO: estate.file('go'),
      }
      await use(Object.assign(estate, { rows: rowsIn(ask, table, claims), options: { config: CONFIG, env } }))
      await estate.clear()
      await client?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client?.end()
    },
  })

function rowsIn(ask: Ask, table: string, claims: string): Rows {
  const count = async (sql: string) => Number((await ask(`SELECT count(*) AS n FROM ${sql}`))[0].n)
  return {
    async fill(rows, waiting = 0) {
      const ids = Array.from({ length: rows }, (_, i) => `(${i + 1}, ${i < waiting ? 1 : 0})`)
      await ask(`INSERT INTO ${table} (id, waits) VALUES ${ids.join(', ')}`)
    },
    left: () => count(`${table} WHERE done = 0`),
    claims: () => count(claims),
    async finish(id) {
      await ask(`UPDATE ${table} SET done = 1 WHERE id = ${id}`)
    },
  }
}

/** The rows that were run, once for each run. */
export function marks(ground: Estate): string[] {
  return readFileSync(ground.file('marks'), 'utf8').split('\n').slice(0, -1)
}
