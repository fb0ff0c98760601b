import type pg from 'pg'
import { inject } from 'vitest'
import type { Store } from '../../src/store/ports/store.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import type { TestDatabase } from '../conformance/index.ts'
import { giveBackSchema, takeSchema } from './postgres-schemas.ts'

export interface PostgresTestDatabase extends TestDatabase {
  readonly url: string
  readonly schema: string
  open(options?: Partial<PostgresStoreOptions>): Promise<Store>
}

/** A schema of its own in the server of this test run, as new. */
export async function openPostgresDatabase(
  defaults: Partial<PostgresStoreOptions> = {},
): Promise<PostgresTestDatabase> {
  const url = inject('postgresUrl')
  const clock = new ManualClock()
  const stores: Store[] = []
  const taken = await takeSchema(url)
  const { name: schema, users } = taken
  await users.query(`SET search_path = ${schema}`)
  return {
    url,
    schema,
    clock,
    synchronous: false,
    elsewhere: {
      module: import.meta.resolve('../../src/store/by-url/open.ts'),
      database: `${url}?schema=${schema}`,
    },
    async open(options) {
      const store = await openPostgresStore({ url, schema, clock, poolSize: 4, ...defaults, ...options })
      stores.push(store)
      return store
    },
    notes: {
      write: (tx, text) => (tx as pg.Client).query(`INSERT INTO ${schema}.notes (text) VALUES ($1)`, [text]),
      all: async () =>
        (await users.query(`SELECT text FROM ${schema}.notes ORDER BY id`)).rows.map((row) => row.text),
    },
    tables: {
      named: (table) => `${schema}.${table}`,
      run: async (sql) => void (await users.query(sql)),
      rows: async (sql) => (await users.query(sql)).rows,
      deleteLedger: async () => void (await users.query(`DELETE FROM ${schema}.ledger`)),
      within: (tx, sql) => (tx as pg.Client).query(sql.replaceAll('files', `${schema}.files`)),
    },
    async transact(work) {
      await users.query('BEGIN')
      try {
        const value = await work(users)
        await users.query('COMMIT')
        return value
      } catch (error) {
        await users.query('ROLLBACK')
        throw error
      }
    },
    async destroy() {
      for (const store of stores) await store.close()
      await giveBackSchema(taken)
    },
  }
}
