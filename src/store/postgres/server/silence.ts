import type pg from 'pg'
import type { Address } from './server-url.ts'
import { pointedAt } from './servers.ts'

/** How often is looked within the time that a connection may be silent. */
const LOOKS = 8
/** A statement that was not answered between so many looks is asked about. */
const LOOKS_PATIENT = 4
/** The part of that time that the server has to accept a connection, and then to answer. */
const PROBE_PART = 3

/** A process of the server. Process ids come again, also on the server that an address may lead to next. */
export interface Backend {
  pid: number
  /** In microseconds of the server's clock. */
  startedAt: string
}

/** A connection that may die in silence. */
export interface Watched {
  readonly address: Address | undefined
  /** Its process in the server; null: unknown, because a pooler stands between. */
  readonly backend: Backend | null
  /** Its statements have no time-out at the server. */
  readonly isUnhurried: boolean
  /** A statement was sent and is not answered. */
  readonly isWaiting: boolean
  readonly bytesRead: number
  /** Nothing is answered any more. */
  cut(why: Error): void
}

interface SilenceOptions {
  config: pg.ClientConfig
  queryTimeoutMs: number
  /** The server answers or gives up within that time, as far as anybody knows. */
  answeredWithinMs: number
  onDead: (connection: Watched) => void
}

interface Seen {
  bytesRead: number
  silentLooks: number
  /** Asked about, and found to be at work. */
  silentMs: number
}

/** What the server says of a process of its own. */
interface Activity extends Backend {
  state: string | null
  /** It waits for us to read its answer. */
  is_telling: boolean
}

/**
 * Finds connections that are dead without having been closed: the network drops what is sent, or the server's address is
 * another machine's now. A statement may take long, and the server says nothing meanwhile. So when an answer does not come, the
 * server is asked over a new connection what the process at the other end is doing. A connection lives only if the server can be
 * reached and that process is at work.
 */
export class Silence {
  readonly #options: SilenceOptions
  readonly #everyMs: number
  readonly #seen = new Map<Watched, Seen>()
  #timer: NodeJS.Timeout | undefined
  #isAsking = false
  #lookedMs = 0
  /** This thread was busy while the server was asked: that no answer was read means nothing. */
  #wasBlocked = false

  constructor(options: SilenceOptions) {
    this.#options = options
    this.#everyMs = Math.max(10, Math.floor(options.queryTimeoutMs / LOOKS))
  }

  watch(connection: Watched): void {
    this.#seen.set(connection, { bytesRead: connection.bytesRead, silentLooks: 0, silentMs: 0 })
    this.#timer ??= setInterval(() => this.#look(), this.#everyMs).unref()
  }

  forget(connection: Watched): void {
    this.#seen.delete(connection)
    if (this.#seen.size === 0) this.close()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs > 2 * this.#everyMs) this.#wasBlocked = true
    this.#lookedMs = nowMs
    for (const [connection, seen] of this.#seen) {
      const { bytesRead } = connection
      const isSilent = connection.isWaiting && bytesRead === seen.bytesRead
      seen.bytesRead = bytesRead
      seen.silentLooks = isSilent ? seen.silentLooks + 1 : 0
      seen.silentMs = isSilent ? seen.silentMs + this.#everyMs : 0
    }
    const silent = [...this.#seen.keys()].filter((one) => this.#seen.get(one)!.silentLooks >= LOOKS_PATIENT)
    if (silent.length === 0 || this.#isAsking) return
    this.#isAsking = true
    this.#wasBlocked = false
    void this.#ask(silent).finally(() => {
      this.#isAsking = false
    })
  }

  async #ask(silent: readonly Watched[]): Promise<void> {
    for (const address of new Set(silent.map((connection) => connection.address!))) {
      const there = silent.filter((connection) => connection.address === address)
      const withinMs = this.#options.queryTimeoutMs / PROBE_PART
      const probe = pointedAt(address, { ...this.#options.config, connectionTimeoutMillis: withinMs })
      const backends = await this.#backendsAt(probe, there)
      // What has arrived in the meantime is read before anything is concluded.
      await new Promise(setImmediate)
      const dead = there.filter((connection) => this.#isDead(connection, backends))
      for (const connection of dead) this.#cut(connection, this.#seen.get(connection)!)
      if (backends !== null) await endProcesses(probe, dead)
      probe.end().catch(() => {})
    }
  }

  #isDead(connection: Watched, backends: Activity[] | null | undefined): boolean {
    const seen = this.#seen.get(connection)
    const isAnswered = seen === undefined || connection.bytesRead !== seen.bytesRead || !connection.isWaiting
    if (isAnswered) return false
    const lives = this.#lives(connection, seen, backends)
    if (lives) seen.silentLooks = 0
    return !lives
  }

  /** Null: the server cannot be reached; undefined: it can, and does not tell. */
  async #backendsAt(
    probe: pg.Client,
    connections: readonly Watched[],
  ): Promise<Activity[] | null | undefined> {
    try {
      await probe.connect()
      const { rows } = await probe.query(BACKENDS, [connections.map(({ backend }) => backend?.pid ?? 0)])
      return rows
    } catch (error) {
      return isAnswer(error) || this.#wasBlocked ? undefined : null
    }
  }

  #lives({ backend, isUnhurried }: Watched, seen: Seen, backends: Activity[] | null | undefined): boolean {
    if (backends === null) return false
    const known = backends?.find(({ pid }) => pid === backend?.pid)
    const isKnown = backends !== undefined && backend !== null && known?.state !== 'disabled'
    if (!isKnown) return isUnhurried || seen.silentMs < this.#options.answeredWithinMs
    // Not at work: our question did not get there, or its answer was lost.
    return known?.state === 'active' && !known.is_telling
  }

  #cut(connection: Watched, { silentMs }: Seen): void {
    const seconds = (silentMs / 1_000).toFixed(1)
    const why = new Error(`the server has been silent for ${seconds} s, and the connection is dead`)
    connection.cut(Object.assign(why, { code: 'ETIMEDOUT' }))
    this.#options.onDead(connection)
  }
}

const BACKENDS = `SELECT pid, state, coalesce(wait_event = 'ClientWrite', false) AS is_telling
  FROM pg_stat_activity WHERE pid = ANY($1::int[])`

/**
 * The server would keep what a dead connection has locked until it misses its client as well. It is asked to end these processes now,
 * and only these. If it does not, it still finds out by itself.
 */
async function endProcesses(probe: pg.Client, dead: readonly Watched[]): Promise<void> {
  const backends = dead.flatMap(({ backend }) => backend ?? [])
  if (backends.length === 0) return
  const values = [backends.map(({ pid }) => pid), backends.map(({ startedAt }) => startedAt)]
  await probe.query(END_PROCESSES, values).catch(() => {})
}

const END_PROCESSES = `SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
  WHERE (pid, ${startedAt('backend_start')}) IN (SELECT pg_catalog.unnest($1::int[]), pg_catalog.unnest($2::text[]))`

/** Of a column: the same on all connections, whatever their settings. */
function startedAt(column: string): string {
  return `pg_catalog.float8mul(pg_catalog.date_part('epoch', ${column}), 1000000)::bigint::text`
}

/** When the process of this connection began, for `Backend`. */
export const OWN_START = `(SELECT ${startedAt('backend_start')} FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())) AS started_at`

/** The server is there, and has too many connections or some other reason not to tell. One that starts or stops has ended all connections. */
function isAnswer(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return /^[0-9A-Z]{5}$/.test(code) && !/^57P0[1235]$/.test(code)
}
