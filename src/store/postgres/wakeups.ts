import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Change } from '../contract.ts'
import { connectionConfig, type PostgresOptions } from './database.ts'
import type { Sql } from './sql.ts'

/** A notification makes all commits of the server wait in line for a moment: one for many is enough. */
const DEBOUNCE_MS = 5
const RECONNECT_MS = 1_000

type Topic = 'work' | 'ended'

/** LISTEN/NOTIFY. Losing any of it costs latency only: workers look by themselves now and then. */
export class Wakeups {
  readonly #options: PostgresOptions
  readonly #sql: Sql
  readonly #tell: (change: Change) => void
  readonly #self = randomUUID().slice(0, 8)
  readonly #pending = new Set<Topic>()
  #client: pg.Client | undefined
  #sendTimer: NodeJS.Timeout | undefined
  #reconnectTimer: NodeJS.Timeout | undefined
  #lastSentMs = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: PostgresOptions, sql: Sql, tell: (change: Change) => void) {
    this.#options = options
    this.#sql = sql
    this.#tell = tell
  }

  /** The words to notify with inside a transaction of the user's own. */
  get channel(): string {
    return this.#sql.schema
  }

  async listen(): Promise<void> {
    const client = new pg.Client(connectionConfig(this.#options))
    client.on('error', () => this.#lost(client))
    client.on('end', () => this.#lost(client))
    client.on('notification', ({ payload }) => this.#heard(payload ?? ''))
    try {
      await client.connect()
      await client.query(`LISTEN ${this.channel}`)
      this.#client = client
    } catch {
      this.#lost(client)
    }
    if (this.#closed) await client.end().catch(() => {})
  }

  /** After a commit: soon, and once for everything that happens until then. */
  announce(topic: Topic): void {
    if (this.#options.notify === false || this.#closed) return
    this.#pending.add(topic)
    if (this.#sendTimer !== undefined) return
    const waitMs = this.#lastSentMs + DEBOUNCE_MS - performance.now()
    if (waitMs <= 0) this.#send()
    else this.#sendTimer = setTimeout(() => this.#send(), waitMs).unref()
  }

  #send(): void {
    this.#sendTimer = undefined
    this.#lastSentMs = performance.now()
    const topics = [...this.#pending]
    this.#pending.clear()
    // A failed wake-up must not fail what was committed.
    this.#sql
      .run('SELECT pg_notify($1, $2)', [this.channel, `${this.#self} ${topics.join(' ')}`])
      .catch(() => {})
  }

  #heard(payload: string): void {
    const [sender, ...topics] = payload.split(' ')
    if (sender === this.#self) return
    this.#tell(
      topics.length === 1 && topics[0] === 'ended'
        ? { kind: 'elsewhere', only: 'ended' }
        : { kind: 'elsewhere' },
    )
  }

  #lost(client: pg.Client): void {
    if (this.#closed || (this.#client !== undefined && this.#client !== client)) return
    this.#client = undefined
    client.removeAllListeners('end')
    client.end().catch(() => {})
    clearTimeout(this.#reconnectTimer)
    this.#reconnectTimer = setTimeout(
      async () => {
        await this.listen()
        // What was said meanwhile was not heard.
        if (this.#client !== undefined) this.#tell({ kind: 'elsewhere' })
      },
      RECONNECT_MS * (0.5 + Math.random()),
    ).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#sendTimer)
    clearTimeout(this.#reconnectTimer)
    await this.#client?.end().catch(() => {})
  }
}
