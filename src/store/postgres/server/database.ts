import pg from 'pg'
import { InputError } from '../../../errors.ts'
import { Connections } from './connections.ts'
import { Journey, type Value } from './journey.ts'
import type { PostgresOptions } from './options.ts'
import { Sql } from './sql.ts'
import { driverFailed, isLostConnection, translated } from './sql-errors.ts'

// Ids, ranks and times are below 2^53.
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** How a transaction is to be. */
export interface Manner {
  /** Its commit is on disk before it is answered; default true. */
  durable?: boolean
  /** Its statements find rows by their place in an index only; see `BY_INDEX`. */
  byIndex?: boolean
  /** What somebody else has locked for longer than that is an error; default 10 s. */
  lockTimeoutMs?: number
  /** What it writes to the user's tables is no news to anybody; see `rows_written`. */
  quiet?: boolean
  /** Its statements are few, and come again and again: they are planned once, and go by the connection where they were. */
  prepared?: boolean
}

/** By the extended protocol, which takes no second statement. */
export type Ask = (text: string) => Promise<any[]>

/** One of those that are sent together. */
export interface Statement {
  text: string
  values: readonly unknown[]
  /** How values are read, if not as the engine reads its own. */
  types?: pg.CustomTypesConfig
}

/** A setting of a transaction. */
type Setting = [name: string, value: string]

const NOT_SYNCED: Setting[] = [['synchronous_commit', 'off']]
/**
 * The planner knows how many tasks were held when it last counted: mostly none. It then joins what a worker hands in or
 * takes by reading the whole table, or each row of it against each row handed in.
 */
const BY_INDEX: Setting[] = [
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
]

/**
 * One plan serves the usual exchange, of tasks or of rows, whatever its size: otherwise the server would make the first five times a new
 * one, at a millisecond or two, or each time, because it believes that a few rows are found better than many. Not for tasks under limits: theirs is
 * better for knowing them.
 */
const PLANNED_ONCE: Setting = ['plan_cache_mode', 'force_generic_plan']

/** Each statement sees what was committed before it began, whatever the server's default is: who waited for a lock sees what happened meanwhile. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** A look. */
const IN_BETWEEN: Manner = { durable: false, byIndex: true }

/** Far more than there are texts that are prepared: should one of them turn out to vary, the server must not fill up. */
const PREPARED_MAX = 500

/** The pool of a store, and transactions on it. */
export class Database {
  readonly sql: Sql
  /** For statements that come again and again. */
  readonly prepared: Sql
  /** For those that come between exchanges, by the connection that is kept for them. */
  readonly between: Sql
  readonly #connections: Connections
  /** Behind a pooler that changes connections nobody knows who was told what. */
  readonly #prepares: boolean
  readonly #names = new Map<string, string>()

  constructor(options: PostgresOptions) {
    const schema = options.schema ?? schemaIn(options.url) ?? 'gleaner'
    if (!/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      throw new InputError(`schema: ${JSON.stringify(schema)} is not a schema`, {
        code: 'BAD_CONFIG',
        hint: "Use small letters, digits and underscores; names that begin with 'pg_' are the server's.",
      })
    }
    const config = { ...connectionConfig(options), max: options.poolSize ?? 10, types: TYPES }
    const pool = new pg.Pool(config)
    // A connection that breaks while it rests is replaced; whoever needs one next will see.
    pool.on('error', () => {})
    this.#connections = new Connections(pool, config.max)
    this.#prepares = options.notify !== false
    this.sql = new Sql({ query: (text, values) => this.#query({ text, values }) }, schema)
    this.prepared = new Sql({ query: (text, values) => this.#query(this.#named(text, values)) }, schema)
    const between = async (text: string, values: unknown[] = []) => ({
      rows: await this.#sent(IN_BETWEEN, (journey) => this.#add(journey, { text, values })),
    })
    this.between = new Sql({ query: between }, schema)
  }

  async #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      return await this.#connections.query(query)
    } catch (error) {
      throw driverFailed(error)
    }
  }

  #named(text: string, values?: any[]): pg.QueryConfig {
    if (!this.#prepares) return { text, values }
    if (!this.#names.has(text) && this.#names.size < PREPARED_MAX)
      this.#names.set(text, `gleaner_${this.#names.size}`)
    return { name: this.#names.get(text), text, values }
  }

  /** Commits what `work` did, or nothing. */
  async transaction<T>(
    work: (sql: Sql, client: pg.PoolClient) => Promise<T>,
    manner: Manner = {},
  ): Promise<T> {
    return this.#onClient(async (client) => {
      await client.query(beginning(manner).join('; '))
      const queryable = manner.prepared
        ? { query: (text: string, values?: any[]) => client.query(this.#named(text, values)) }
        : client
      const value = await work(this.sql.on(queryable), client)
      await client.query('COMMIT')
      return value
    }, manner.prepared === true)
  }

  /**
   * A transaction in one journey: what `work` asks for before it first waits goes out at once, and the commit with it. So the
   * server never waits for us inside it, however long a handler keeps our event loop busy, and nobody waits for what it has
   * locked. Whether it may be done the statements have to see for themselves; one that fails takes the others with it.
   */
  async together<T>(work: (sql: Sql) => Promise<T>, manner: Manner): Promise<T> {
    return this.#sent(manner, (journey) => {
      const query = async (text: string, values: any[] = []) => ({
        rows: await this.#add(journey, { text, values }),
      })
      return work(this.sql.on({ query }))
    })
  }

  /** The same, of statements that are known; their rows come as arrays. */
  async volley(statements: readonly Statement[], manner: Manner = {}): Promise<any[][][]> {
    return this.#sent(manner, (journey) =>
      Promise.all(statements.map((statement) => this.#add(journey, statement, true))),
    )
  }

  async #sent<T>(manner: Manner, work: (journey: Journey) => Promise<T>): Promise<T> {
    return this.#onClient(async (client) => {
      const journey = new Journey()
      for (const text of beginning(manner, PLANNED_ONCE)) void this.#add(journey, { text, values: [] })
      const working = work(journey)
      void this.#add(journey, { text: 'COMMIT', values: [] })
      client.query(journey)
      const [worked] = await Promise.all([working, journey.over])
      return worked
    }, true)
  }

  #add(journey: Journey, { text, values, types = TYPES }: Statement, asArrays = false): Promise<any[]> {
    const { name } = this.#named(text)
    return journey.add({ name, text, values: values as Value[], types, asArrays })
  }

  async #onClient<T>(work: (client: pg.PoolClient) => Promise<T>, isRegular: boolean): Promise<T> {
    const client = await this.#connections.open(isRegular).catch((error) => {
      throw driverFailed(error)
    })
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    try {
      return await work(client)
    } catch (error) {
      if (isLostConnection(error)) broken = error as Error
      if (broken === undefined) await client.query('ROLLBACK').catch((failed) => (broken = failed))
      throw translated(error)
    } finally {
      client.off('error', onError)
      this.#connections.close(client, broken, isRegular)
    }
  }

  /** Asks in a transaction that is rolled back, one statement at a time: nothing of it stays. */
  async trial<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    const kept = new Error('rolled back')
    let value: T
    try {
      await this.transaction(async (_, client) => {
        const extended = { queryMode: 'extended' }
        const ask: Ask = async (text) => (await client.query({ text, ...extended })).rows
        value = await work(ask)
        throw kept
      })
    } catch (error) {
      if (error !== kept) throw error
    }
    return value!
  }

  /** Outside any transaction, for as long as it takes; the connection is not used again. */
  async unhurried<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connections.open(false).catch((error) => {
      throw driverFailed(error)
    })
    client.on('error', () => {})
    try {
      await client.query('SET statement_timeout = 0')
      return await work(this.sql.on(client))
    } catch (error) {
      throw translated(error)
    } finally {
      client.release(true)
    }
  }

  async close(): Promise<void> {
    await this.#connections.end()
  }
}

/** Statements for a round trip of their own, or for the first part of one. */
function beginning(
  { durable = true, byIndex = false, quiet = false, lockTimeoutMs }: Manner,
  ...more: Setting[]
): string[] {
  const settings: Setting[] = [
    ...(durable ? [] : NOT_SYNCED),
    ...(byIndex ? BY_INDEX : []),
    ...(quiet ? [['gleaner_rows.quiet', 'on'] satisfies Setting] : []),
    ...(lockTimeoutMs === undefined ? [] : [['lock_timeout', String(lockTimeoutMs)] satisfies Setting]),
    ...more,
  ]
  if (settings.length === 0) return [BEGIN]
  const set = settings.map(([name, value]) => `set_config('${name}', '${value}', true)`)
  return [BEGIN, `SELECT ${set.join(', ')}`]
}

/** A URL may carry everything; what is no URL is refused without being repeated: it may hold a password. */
export function connectionConfig(options: PostgresOptions): pg.ClientConfig {
  if (!isReadable(options.url)) {
    throw new InputError('database: this is not a PostgreSQL URL', {
      code: 'BAD_CONFIG',
      hint: "Use 'postgres://user:password@host:5432/database'; encode special characters of the password.",
    })
  }
  if (!isPlainData(options.ssl)) {
    throw new InputError('postgres.ssl: functions are not possible', {
      code: 'BAD_OPTION',
      hint: 'The keeper renews the lease from a thread of its own, which gets plain data: use ca, cert, key, servername.',
    })
  }
  return {
    connectionString: options.url,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    lock_timeout: options.lockTimeoutMs ?? 10_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'gleaner',
    keepAlive: true,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
  }
}

/** `postgres://…/app?schema=jobs` */
function schemaIn(url: string): string | null {
  return URL.canParse(url) ? new URL(url).searchParams.get('schema') : null
}

function isReadable(url: string): boolean {
  try {
    const { username, password, hostname } = new URL(url)
    for (const part of [username, password, hostname]) decodeURIComponent(part)
    return url.startsWith(`${new URL(url).protocol}//`)
  } catch {
    return false
  }
}

function isPlainData(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
