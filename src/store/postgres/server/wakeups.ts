import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Change } from '../../ports/change.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import { Neighbours } from './neighbours.ts'
import { Network } from './network.ts'
import { ServerConnection } from './server-connection.ts'
import type { Sql } from './sql.ts'
import { isReadOnly } from './sql-errors.ts'
import { added, type NewTasks, readTaskWords, type TaskWords, writeTaskWords } from './task-words.ts'
import { refuseReadOnly, WRITABLE } from './writable.ts'

/**
 * A notification makes all commits of the server wait in line for a moment, and wakes everybody who listens: one for many is
 * enough. Who waits for an end waits a little longer than who waits for work: ends come as often as workers hand in.
 */
const DEBOUNCE_MS: Record<Topic, number> = { work: 5, ended: 25 }
/** In a durable commit that moment is as long as the disk takes: only who has been quiet for a while does that. */
const QUIET_MS = 20
const RECONNECT_MS = 1_000
/**
 * Workers that are not to take a task look whether another one did: it may have died. Many notifications are one look. The next in the
 * order look soon, and the others only in case that these have died as well.
 */
const LATE_MS = { next: 1_000, others: 10_000 }
const NEXT = 1

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
  readonly #tell: (change: Change) => boolean | void
  readonly neighbours = new Neighbours()
  readonly #self = randomUUID().slice(0, 8)
  readonly #pending = new Set<Topic>()
  /** To be announced, unless all work is. */
  #tasks: NewTasks | undefined
  #lateTimer: NodeJS.Timeout | undefined
  #lateAtMs = Number.POSITIVE_INFINITY
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
    tell: (change: Change) => boolean | void,
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
      // Both in one round trip.
      const answers = (await client.query(`${this.#listening}; ${WRITABLE}`)) as unknown as pg.QueryResult[]
      refuseReadOnly(answers[1]!.rows[0])
    } catch (error) {
      if (!isReadOnly(error)) return
      this.#network.leave(client.address)
      client.cut(error as Error)
    }
  }

  /** What to say with the very commit that makes the work; null: there was something lately, and it is to be announced. */
  saying(tasks: NewTasks | null): Saying | null {
    const now = performance.now()
    if (!this.#mayTell || this.#sendTimer !== undefined || now - this.#lastSentMs < QUIET_MS) return null
    this.#lastSentMs = now
    return {
      channel: this.#sql.schema,
      words: this.#words(tasks === null ? ['work'] : [], tasks ?? undefined),
    }
  }

  /** After a commit: soon, and once for everything that happens until then. `tasks`: all that there is to do. */
  announce(topic: Topic, tasks?: NewTasks | null): void {
    if (!this.#mayTell) return
    const isAwaited = this.#pending.has(topic) || this.#hasWork
    this.#add(topic, tasks ?? undefined)
    if (isAwaited) return
    clearTimeout(this.#sendTimer)
    const waitMs = this.#lastSentMs + DEBOUNCE_MS[topic] - performance.now()
    if (waitMs <= 0) void this.#send()
    else this.#sendTimer = setTimeout(() => void this.#send(), waitMs).unref()
  }

  get #hasWork(): boolean {
    return this.#pending.has('work') || this.#tasks !== undefined
  }

  #add(topic: Topic, tasks: NewTasks | undefined): void {
    if (topic === 'ended') this.#pending.add(topic)
    if (topic === 'ended' || this.#pending.has('work')) return
    const known = this.#tasks
    this.#tasks = (tasks && known ? added(known, tasks) : tasks) ?? undefined
    if (this.#tasks === undefined) this.#pending.add('work')
  }

  get #mayTell(): boolean {
    return this.#options.notify !== false && !this.#closed
  }

  #words(topics: readonly Topic[], tasks: NewTasks | undefined): string {
    const seed = Math.random().toString(36).slice(2, 8)
    const about = tasks === undefined ? [] : [writeTaskWords({ ...tasks, seed, place: 0 }) ?? 'work']
    return [this.#self, ...topics, ...about].join(' ')
  }

  async #send(): Promise<void> {
    this.#sendTimer = undefined
    this.#lastSentMs = performance.now()
    const words = this.#words([...this.#pending], this.#tasks)
    this.#pending.clear()
    this.#tasks = undefined
    await this.#notify(words)
  }

  /** A failed wake-up must not fail what was committed. Nor need it be on disk before others hear it. */
  async #notify(words: string): Promise<void> {
    await this.#sql
      .run(`SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.pg_notify($1, $2)`, [
        this.#sql.schema,
        words,
      ])
      .catch(() => {})
  }

  #heard(payload: string): void {
    const [sender, ...topics] = payload.split(' ')
    const isOwn = sender === this.#self
    const ofTasks = topics.map(readTaskWords).find((words) => words !== null)
    if (ofTasks !== undefined && !topics.includes('work')) this.#heardOf(ofTasks, isOwn)
    else if (!isOwn)
      this.#tell(isOnlyEnds(topics) ? { kind: 'elsewhere', only: 'ended' } : { kind: 'elsewhere' })
  }

  /** The first worker in the order takes them; one that is not free passes them on. `isOwn`: this process sent it. */
  #heardOf(words: TaskWords, isOwn: boolean): void {
    const { queue, name, seed, place, count } = words
    const { count: all, own } = this.neighbours.placesOf(seed)
    const isOurs = own.some((at) => at >= place && at < place + count)
    if (isOwn && !isOurs) return
    const turn = isOurs ? 'ours' : 'others'
    const isTaken = this.#tell({ kind: 'elsewhere', task: { queue, name, turn } }) === true
    if (isOurs && !isTaken && place + count < all && this.#mayTell) {
      const passed = writeTaskWords({ ...words, place: place + count, count: 1 })
      void this.#notify(`${this.#self} ${passed}`)
    }
    const isNext = own.some((at) => (at - place + all) % all < count + NEXT)
    if (!isTaken && this.neighbours.areHere) this.#lookLate(queue, name, isNext)
  }

  #lookLate(queue: string, name: string, isNext: boolean): void {
    const withinMs = isNext ? LATE_MS.next : LATE_MS.others
    const inMs = withinMs * (0.25 + 0.75 * Math.random())
    const atMs = performance.now() + inMs
    // A look that comes earlier is enough, and one in the same time as well.
    if (atMs >= this.#lateAtMs - (isNext ? 0 : LATE_MS.others)) return
    clearTimeout(this.#lateTimer)
    this.#lateAtMs = atMs
    this.#lateTimer = setTimeout(() => {
      this.#lateAtMs = Number.POSITIVE_INFINITY
      this.#tell({ kind: 'elsewhere', task: { queue, name, turn: 'late' } })
    }, inMs).unref()
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
    clearTimeout(this.#lateTimer)
    clearTimeout(this.#sendTimer)
    // Who enqueues and leaves has said so before.
    if (this.#sendTimer !== undefined) await this.#send()
    await this.#client?.end().catch(() => {})
  }
}

/** There may be something to do now. */
export function isWork(change: Change): boolean {
  if (change.kind !== 'elsewhere') return change.kind === 'work'
  return change.only === undefined && (change.task === undefined || change.task.turn === 'ours')
}

function isOnlyEnds(topics: readonly string[]): boolean {
  return topics.length === 1 && topics[0] === 'ended'
}

function onceOnly(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) act()
    done = true
  }
}
