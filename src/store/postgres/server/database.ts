import pg from 'pg'
import { InputError } from '../../../errors.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import { Connections } from './connections.ts'
import { Network } from './network.ts'
import { Pipeline, type WireAnswer, type WireValue } from './pipeline.ts'
import { ServerConnection } from './server-connection.ts'
import { schemaIn } from './server-url.ts'
import {
  beginning,
  beginningInParts,
  hasSession,
  PLANNED_ONCE,
  type Setting,
  settingsOf,
  settingsWithoutSession,
  type TransactionOptions,
} from './settings.ts'
import { Sql } from './sql.ts'
import { doubted, driverFailed, isLostConnection, isReadOnly, translated } from './sql-errors.ts'
import { refuseReadOnly, WRITABLE } from './writable.ts'

// Ids, ranks and times are below 2^53.
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** By the extended protocol, which takes no second statement. */
export type Ask = (text: string) => Promise<any[]>

/** Sends it with the others. */
type Add = (statement: Statement, asArrays?: boolean) => Promise<WireAnswer>

/** One of those that are sent together. */
export interface Statement {
  text: string
  values: readonly unknown[]
  /** How values are read, if not as the engine reads its own. */
  types?: pg.CustomTypesConfig
}

/** How statements are sent in one piece. */
interface Sending {
  options: TransactionOptions
  /** By the connection that is kept for what comes again and again. */
  isRegular: boolean
  /** Its statements are prepared, if there is a session. */
  isPrepared: boolean
  isPlannedOnce?: boolean
}

const ALONE: Sending = { options: {}, isRegular: false, isPrepared: false }
const ALONE_PREPARED: Sending = { options: {}, isRegular: false, isPrepared: true }
const ALONE_UNHURRIED: Sending = { options: { unhurried: true }, isRegular: false, isPrepared: false }
const ALONE_USER: Sending = { options: { runsUserSql: true }, isRegular: false, isPrepared: false }
const ALONE_USER_UNHURRIED: Sending = {
  options: { unhurried: true, runsUserSql: true },
  isRegular: false,
  isPrepared: false,
}
const USER_SQL: TransactionOptions = { runsUserSql: true }
const REPEATED = { isRegular: true, isPrepared: true, isPlannedOnce: true }
/** A look. */
const IN_BETWEEN: Sending = { options: { durable: false, byIndex: true }, ...REPEATED }

/** Far more than there are texts that are prepared: should one of them turn out to vary, the server must not fill up. */
const PREPARED_MAX = 500

/** The pool of a store, and transactions on it. */
export class Database {
  readonly sql: Sql
  /** For statements that come again and again. */
  readonly prepared: Sql
  /** For those that come between exchanges, by the connection that is kept for them. */
  readonly between: Sql
  readonly network: Network
  /** Each statement may take as long as it needs. */
  readonly unhurried: Sql
  /** For statements that contain SQL of the user, or that look up a table of the user by its name; see `runsUserSql`. */
  readonly ofUser: Sql
  readonly ofUserUnhurried: Sql
  readonly #connections: Connections
  /** Behind a pooler that changes connections nobody knows who was told what. */
  readonly #hasSession: boolean
  readonly #settings: readonly Setting[]
  readonly #names = new Map<string, string>()
  readonly #beating: NodeJS.Timeout | undefined

  constructor(options: PostgresOptions) {
    const schema = options.schema ?? schemaIn(options.url) ?? 'gleaner'
    if (!/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      throw new InputError(`schema: ${JSON.stringify(schema)} is not a schema`, {
        code: 'BAD_CONFIG',
        hint: "Use small letters, digits and underscores; names that begin with 'pg_' are the server's.",
      })
    }
    this.network = new Network(options)
    const max = options.poolSize ?? 10
    const pool = new pg.Pool({
      ...this.network.config,
      ...{ network: this.network, Client: ServerConnection as never },
      max,
      types: TYPES,
    })
    // A connection that breaks while it rests is replaced; whoever needs one next will see.
    pool.on('error', () => {})
    this.#connections = new Connections(pool, max)
    // A process that listens notices it there.
    if (this.network.isPooled)
      this.#beating = setInterval(() => void this.#beat().catch(() => {}), this.network.beatMs).unref()
    this.#hasSession = hasSession(options)
    this.#settings = settingsWithoutSession(options)
    this.sql = this.#oneByOne(ALONE, schema)
    this.prepared = this.#oneByOne(ALONE_PREPARED, schema)
    this.between = this.#oneByOne(IN_BETWEEN, schema)
    this.unhurried = this.#oneByOne(ALONE_UNHURRIED, schema)
    this.ofUser = this.#oneByOne(ALONE_USER, schema)
    this.ofUserUnhurried = this.#oneByOne(ALONE_USER_UNHURRIED, schema)
  }

  /** Each statement is a transaction, which takes one round trip as well. */
  #oneByOne(sending: Sending, schema: string): Sql {
    const query = (text: string, values: unknown[] = []) =>
      this.#sent(sending, (add) => add({ text, values })).catch((error) => {
        throw driverFailed(error)
      })
    return new Sql({ query }, schema)
  }

  /** Leaves a server that accepts no writes any more. */
  #beat(): Promise<void> {
    const look = async (client: pg.PoolClient) => refuseReadOnly((await client.query(WRITABLE)).rows[0])
    return this.#onClient(look, true)
  }

  /** The server plans a prepared statement anew when the search_path is not the one that it was planned for: each path has its own name. */
  #named(text: string, { runsUserSql = false }: TransactionOptions, values?: any[]): pg.QueryConfig {
    if (!this.#hasSession) return { text, values }
    const key = `${runsUserSql} ${text}`
    if (!this.#names.has(key) && this.#names.size < PREPARED_MAX)
      this.#names.set(key, `gleaner_${this.#names.size}`)
    return { name: this.#names.get(key), text, values }
  }

  /** Commits what `work` did, or nothing. */
  async transaction<T>(
    work: (sql: Sql, client: pg.PoolClient) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    return this.#onClient(
      async (client) => {
        await client.query(beginning(settingsOf(options, this.#settings), options))
        const value = await work(this.sql.on(client), client)
        await doubted(client.query('COMMIT'))
        return value
      },
      false,
      options,
    )
  }

  /**
   * A transaction of statements that come again and again: what `work` asks for in the same turn travels together, and the
   * beginning with the first of it. It goes by the connection where its statements are planned.
   */
  async inSteps<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions): Promise<T> {
    return this.#onClient(
      async (client) => {
        const settings = settingsOf(options, this.#settings, PLANNED_ONCE)
        let before = beginningInParts(settings, options)
        let pipeline: Pipeline | null = null
        const depart = () => {
          const one = new Pipeline()
          for (const text of before) void this.#add(one, { text, values: [] }, {})
          before = []
          queueMicrotask(() => {
            pipeline = null
            client.query(one)
            // Its statements tell.
            one.over.catch(() => {})
          })
          return one
        }
        const query = (text: string, values: readonly unknown[] = []) => {
          pipeline ??= depart()
          return this.#add(pipeline, { text, values }, options)
        }
        const value = await work(this.sql.on({ query }))
        await doubted(client.query('COMMIT'))
        return value
      },
      true,
      options,
    )
  }

  /**
   * A transaction in one round trip: what `work` asks for before it first waits goes out at once, and the commit with it. So the
   * server never waits for us inside it, however long a handler keeps our event loop busy, and nobody waits for what it has
   * locked. Whether it may be done the statements have to see for themselves; one that fails takes the others with it.
   */
  async together<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions): Promise<T> {
    return this.#sent({ options, ...REPEATED }, (add) =>
      work(this.sql.on({ query: (text, values = []) => add({ text, values }) })),
    )
  }

  /** The same, of statements that are known; their rows come as arrays. */
  async batch(statements: readonly Statement[], options: TransactionOptions = {}): Promise<any[][][]> {
    return this.#sent({ options, ...REPEATED }, async (add) => {
      const answers = await Promise.all(statements.map((statement) => add(statement, true)))
      return answers.map(({ rows }) => rows)
    })
  }

  async #sent<T>(sending: Sending, work: (add: Add) => Promise<T>): Promise<T> {
    const { options, isRegular, isPrepared, isPlannedOnce = false } = sending
    const settings = settingsOf(options, this.#settings, ...(isPlannedOnce ? [PLANNED_ONCE] : []))
    return this.#onClient(
      async (client) => {
        const pipeline = new Pipeline()
        for (const text of beginningInParts(settings, options))
          void this.#add(pipeline, { text, values: [] }, {})
        const own = isPrepared ? options : null
        const working = work((statement, asArrays) => this.#add(pipeline, statement, own, asArrays))
        void this.#add(pipeline, { text: 'COMMIT', values: [] }, {})
        client.query(pipeline)
        const [worked] = await doubted(Promise.all([working, pipeline.over]))
        return worked
      },
      isRegular,
      options,
    )
  }

  /** `prepared`: for transactions of which kind; null: it is not prepared. */
  #add(
    pipeline: Pipeline,
    statement: Statement,
    prepared: TransactionOptions | null,
    asArrays = false,
  ): Promise<WireAnswer> {
    const { text, values, types = TYPES } = statement
    const { name } = prepared === null ? {} : this.#named(text, prepared)
    return pipeline.add({ name, text, values: values as WireValue[], types, asArrays })
  }

  async #onClient<T>(
    work: (client: pg.PoolClient) => Promise<T>,
    isRegular: boolean,
    { unhurried = false }: TransactionOptions = {},
  ): Promise<T> {
    const client = await this.#connections.open(isRegular).catch((error) => {
      throw driverFailed(error)
    })
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    const connection = client as unknown as ServerConnection
    connection.isUnhurried = unhurried
    try {
      return await work(client)
    } catch (error) {
      if (isLostConnection(error)) broken = error as Error
      if (isReadOnly(error)) this.network.leave(connection.address)
      if (broken === undefined) await client.query('ROLLBACK').catch((failed) => (broken = failed))
      throw translated(error)
    } finally {
      client.off('error', onError)
      connection.isUnhurried = false
      this.#connections.close(client, broken, isRegular)
    }
  }

  /** Asks in a transaction that is rolled back, one statement at a time: nothing of it stays. They contain SQL of the user. */
  async trial<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    const kept = new Error('rolled back')
    let value: T
    try {
      await this.transaction(async (_, client) => {
        const extended = { queryMode: 'extended' }
        const ask: Ask = async (text) => (await client.query({ text, ...extended })).rows
        value = await work(ask)
        throw kept
      }, USER_SQL)
    } catch (error) {
      if (error !== kept) throw error
    }
    return value!
  }

  /** Statements that no transaction may hold, for as long as they take. */
  async outside(texts: readonly string[]): Promise<void> {
    const client = await this.#connections.open(false).catch((error) => {
      throw driverFailed(error)
    })
    ;(client as unknown as ServerConnection).isUnhurried = true
    try {
      if (this.#hasSession) await client.query('SET statement_timeout = 0')
      for (const text of texts) await this.sql.on(client).run(text)
    } catch (error) {
      throw translated(error)
    } finally {
      // With its setting it is not used again.
      client.release(this.#hasSession)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#beating)
    await this.#connections.end()
    this.network.close()
  }
}
