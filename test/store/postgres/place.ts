import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject, test as plain } from 'vitest'
import { type Gleaner, type GleanerOptions, openGleaner } from '../../../src/index.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/store.ts'
import { until } from '../../until.ts'
import { giveBackSchema, type Schema, takeSchema } from '../postgres-schemas.ts'
import { PostgresProxy } from './proxy.ts'

export type EngineOptions = Omit<GleanerOptions, 'database'> & { database?: string }

/** A schema of a test's own in the run's server, and everything that was opened on it: gone when the test is over. */
export class Place {
  readonly url = inject('postgresUrl')
  readonly schema: string
  readonly #migrated: Schema | undefined
  readonly #ends: (() => Promise<unknown>)[] = []
  #admin: Promise<pg.Client> | undefined

  /** @param migrated has the engine's tables already; without it, the first to open it makes them. */
  constructor(migrated?: Schema) {
    this.#migrated = migrated
    this.schema = migrated?.name ?? `t_${randomUUID().replaceAll('-', '')}`
    if (migrated !== undefined) this.#admin = Promise.resolve(migrated.users)
  }

  async open({ database = this.url, ...options }: EngineOptions = {}): Promise<Gleaner> {
    const postgres = { schema: this.schema, poolSize: 4, ...options.postgres }
    const gleaner = await openGleaner({ database, ...options, postgres })
    this.#ends.push(() => gleaner.close())
    return gleaner
  }

  async store(options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
    const store = await openPostgresStore({ url: this.url, schema: this.schema, poolSize: 4, ...options })
    this.#ends.push(() => store.close())
    return store
  }

  async proxy(url: string = this.url): Promise<PostgresProxy> {
    const proxy = await PostgresProxy.open(url)
    this.atEnd(() => proxy.close())
    return proxy
  }

  /** A connection of the app's own, as `pg` makes it. */
  async client(url: string = this.url): Promise<pg.Client> {
    const client = await connected(url)
    this.#ends.push(() => client.end())
    return client
  }

  /** What the database says, to somebody who is not involved. `gleaner.` stands for the schema of this test. */
  async rows(text: string, values: unknown[] = []): Promise<any[]> {
    this.#admin ??= connected(this.url)
    return (await (await this.#admin).query(text.replaceAll('gleaner.', `${this.schema}.`), values)).rows
  }

  async createSchema(): Promise<void> {
    await this.rows(`CREATE SCHEMA IF NOT EXISTS ${this.schema}`)
  }

  /** The server's processes that hear what is said in this schema. */
  async listeners(): Promise<number[]> {
    const found = await this.rows('SELECT pid FROM pg_stat_activity WHERE starts_with(query, $1)', [
      `LISTEN "${this.schema}"`,
    ])
    return found.map(({ pid }) => pid)
  }

  until = until

  /** The last to be opened is the first to be closed. */
  atEnd(end: () => Promise<unknown>): void {
    this.#ends.push(end)
  }

  async clear(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await withinSeconds(20, end())
    if (this.#migrated !== undefined) return giveBackSchema(this.#migrated)
    await this.rows(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`)
    await (await this.#admin)?.end()
  }
}

/** What a failed test has left waiting must not keep the others waiting, too. */
async function withinSeconds(seconds: number, end: Promise<unknown>): Promise<void> {
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error(`not closed within ${seconds} s`)), seconds * 1_000)
  await Promise.race([end, limit.promise]).finally(() => clearTimeout(timer))
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** For tests that start from nothing, or measure how the tables lie on the disk. */
export const test = withPlace(async () => new Place())

/** On the schema of an earlier test of this file, migrated and empty: to make a new one is most of what a small test costs. */
export const testMigrated = withPlace(async () => new Place(await takeSchema(inject('postgresUrl'))))

function withPlace(open: () => Promise<Place>) {
  return plain.extend<{ place: Place }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs from here
    place: async ({}, use) => {
      const place = await open()
      try {
        await use(place)
      } finally {
        await place.clear()
      }
    },
  })
}
