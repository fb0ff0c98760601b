import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { COUNTING, FLAWS } from '../../../src/store/postgres/maintenance/soundness.ts'
import { until } from '../../until.ts'
import type { Ground, Row } from './ground.ts'

/** Each index against its table: every row is in it, at its place, and nothing else. */
const CHECK_INDEXES = `SELECT bt_index_parent_check(c.oid, true, true) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam
  WHERE n.nspname = 'gleaner' AND c.relkind = 'i' AND a.amname = 'btree'`

/** A database of its own in the server: the user in its URL must be allowed to create some. */
export class PostgresGround implements Ground {
  readonly database: string
  readonly ownFlaws = FLAWS
  readonly counting = COUNTING
  /** The operations are those of SQLite, at a multiple of the time. */
  readonly pointsMax = 3
  readonly #server: string
  readonly #name: string
  readonly #copies: PostgresGround[] = []
  #client: Promise<pg.Client> | undefined
  #gone = false

  static async fresh(server: string): Promise<PostgresGround> {
    const ground = await PostgresGround.#create(server, 'template1')
    const checker = await ground.rows(`SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'`)
    if (checker.length > 0) await ground.rows('CREATE EXTENSION IF NOT EXISTS amcheck')
    return ground
  }

  static async #create(server: string, template: string): Promise<PostgresGround> {
    const ground = new PostgresGround(server, `gleaner_torture_${randomUUID().replaceAll('-', '')}`)
    await administer(server, `CREATE DATABASE ${ground.#name} TEMPLATE ${template}`)
    return ground
  }

  private constructor(server: string, name: string) {
    this.#server = server
    this.#name = name
    this.database = Object.assign(new URL(server), { pathname: name }).href
  }

  async copy(): Promise<Ground> {
    await this.#disconnect()
    const copy = await PostgresGround.#create(this.#server, this.#name)
    this.#copies.push(copy)
    return copy
  }

  async rows(sql: string): Promise<Row[]> {
    this.#client ??= this.#connected()
    return (await (await this.#client).query(sql)).rows
  }

  /** If the server dies, the connection dies with it; the next query opens another one. */
  async #connected(): Promise<pg.Client> {
    const client = await connected(this.database)
    client.on('error', () => {
      this.#client = undefined
    })
    return client
  }

  async hasTables(): Promise<boolean> {
    return (await this.rows(`SELECT 1 WHERE to_regclass('gleaner.tasks') IS NOT NULL`)).length > 0
  }

  /** The server notices that a client is gone when it wants to read from it, or to answer it. */
  async deserted(): Promise<void> {
    const others = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
    await until('nobody else is connected', async () => (await this.rows(others)).length === 0)
  }

  async damage(): Promise<string[]> {
    const checker = await this.rows(`SELECT 1 FROM pg_extension WHERE extname = 'amcheck'`)
    if (checker.length === 0) return []
    return this.rows(CHECK_INDEXES).then(
      () => [],
      (error) => [`amcheck: ${error.message}`],
    )
  }

  isTelling(before: string): boolean {
    return before.split(';\n').some((statement) => !/^\s*(SELECT|BEGIN)/.test(statement))
  }

  async clear(): Promise<void> {
    if (this.#gone) return
    this.#gone = true
    for (const copy of this.#copies) await copy.clear()
    await this.#disconnect()
    await administer(this.#server, `DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`)
  }

  /** Who is connected to a database keeps it from being copied. */
  async #disconnect(): Promise<void> {
    const client = await this.#client
    this.#client = undefined
    await client?.end()
  }
}

async function administer(server: string, sql: string): Promise<void> {
  const client = await connected(server)
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
