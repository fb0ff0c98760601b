import { randomUUID } from 'node:crypto'
import type { Change } from '../../contract.ts'
import { Network } from './network.ts'
import type { PostgresOptions } from './options.ts'
import { ServerConnection } from './server-connection.ts'
import type { Sql } from './sql.ts'
import { isReadOnly } from './sql-errors.ts'
import { refuseReadOnly, WRITABLE } from './writable.ts'

/**
 * A notification makes all commits of the server wait in line for a moment, and wakes everybody who listens: one for many is
 * enough. Who waits for an end waits a little longer than who waits for work: ends come as often as workers hand in.
 */
const DEBOUNCE_MS: Record<Topic, number> = { work: 5, ended: 25 }
/** In a durable commit that moment is as long as the disk takes: only who has been quiet for a while does that. */
const QUIET_MS = 20
const RECONNECT_MS = 1_000

/** The server knows it since version 14. It listens for as long as the process lives. */
const UNENDING = `SELECT pg_catalog.set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'`

type Topic = 'work' | 'ended'

/** A notification for a statement to send along. */
export interface Saying {
  channel: string
  words: string
}

/** LISTEN/NOTIFY. Losing any of it costs latency only: workers look by themselves now and then. */
export class Wakeups {
  readonly #options: PostgresOptions
  readonly #sql: Sql
  readonly #tell: (change: Change) => void
  readonly #self = randomUUID().slice(0, 8)
  readonly #pending = new Set<Topic>()
  readonly #network: Network
  #client: ServerConnection | undefined
  #beating: NodeJS.Timeout | undefined
  #sendTimer: NodeJS.Timeout | undefined
  #reconnectTimer: NodeJS.Timeout | undefined
  #lastSentMs = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(
    options: PostgresOptions,
    sql: Sql,
    tell: (change: Change) => void,
    network = new Network(options),
  ) {
    this.#network = network
    this.#options = options
    this.#sql = sql
    this.#tell = tell
  }

  async listen(): Promise<void> {
    const client = new ServerConnection({ ...this.#network.config, network: this.#network })
    // Once: a broken connection may tell of its end several times, also when the next one is being opened.
    const lost = onceOnly(() => this.#lost(client))
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', ({ payload }) => this.#heard(payload ?? ''))
    try {
      await client.connect()
      await client.query(UNENDING)
      await client.query(this.#listening)
      this.#client = client
      this.#beating = setInterval(() => void this.#beat(client), this.#network.beatMs).unref()
    } catch {
      lost()
    }
    if (this.#closed) await client.end().catch(() => {})
  }

  get #listening(): string {
    return `LISTEN "${this.#sql.schema}"`
  }

  /** Nobody else would notice that nothing is heard any more, nor that an idle worker looks at a server that is left behind. */
  async #beat(client: ServerConnection): Promise<void> {
    if (client.isWaiting) return
    try {
      refuseReadOnly((await client.query(WRITABLE)).rows[0])
      await client.query(this.#listening)
    } catch (error) {
      if (!isReadOnly(error)) return
      this.#network.leave(client.address)
      client.cut(error as Error)
    }
  }

  /** What to say with the very commit that makes the work; null: there was something lately, and it is to be announced. */
  saying(topic: Topic): Saying | null {
    const now = performance.now()
    if (!this.#mayTell || this.#sendTimer !== undefined || now - this.#lastSentMs < QUIET_MS) return null
    this.#lastSentMs = now
    return { channel: this.#sql.schema, words: this.#words([topic]) }
  }

  /** After a commit: soon, and once for everything that happens until then. */
  announce(topic: Topic): void {
    if (!this.#mayTell) return
    const isAwaited = this.#pending.has(topic) || this.#pending.has('work')
    this.#pending.add(topic)
    if (isAwaited) return
    clearTimeout(this.#sendTimer)
    const waitMs = this.#lastSentMs + DEBOUNCE_MS[topic] - performance.now()
    if (waitMs <= 0) void this.#send()
    else this.#sendTimer = setTimeout(() => void this.#send(), waitMs).unref()
  }

  get #mayTell(): boolean {
    return this.#options.notify !== false && !this.#closed
  }

  #words(topics: readonly Topic[]): string {
    return `${this.#self} ${topics.join(' ')}`
  }

  async #send(): Promise<void> {
    this.#sendTimer = undefined
    this.#lastSentMs = performance.now()
    const topics = [...this.#pending]
    this.#pending.clear()
    // A failed wake-up must not fail what was committed. Nor need it be on disk before others hear it.
    await this.#sql
      .run(`SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.pg_notify($1, $2)`, [
        this.#sql.schema,
        this.#words(topics),
      ])
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

  #lost(client: ServerConnection): void {
    clearInterval(this.#beating)
    if (this.#closed) return
    this.#client = undefined
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
    clearInterval(this.#beating)
    clearTimeout(this.#reconnectTimer)
    clearTimeout(this.#sendTimer)
    // Who enqueues and leaves has said so before.
    if (this.#sendTimer !== undefined) await this.#send()
    await this.#client?.end().catch(() => {})
  }
}

/** There may be something to do now. */
export function isWork(change: Change): boolean {
  return change.kind === 'work' || (change.kind === 'elsewhere' && change.only === undefined)
}

function onceOnly(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}
