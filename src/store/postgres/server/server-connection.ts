import type pg from 'pg'
import { Client } from './client.ts'
import type { Network } from './network.ts'
import type { Address } from './server-url.ts'
import { type Backend, OWN_START, type Watched } from './silence.ts'
import { asNeverSent } from './sql-errors.ts'
import { WRITABLE } from './writable.ts'

/** The server gives up a client that it does not hear for so long, and what that has locked. */
const SERVER_KEEPS_DEAD_MS = 20_000

export interface ServerConnectionConfig extends pg.ClientConfig {
  network: Network
}

/** A connection to the server that is right at the time, and that is noticed when it is dead. */
export class ServerConnection extends Client implements Watched {
  readonly #network: Network
  backend: Backend | null = null
  isUnhurried = false
  /** When it was opened, the server accepted writes, as far as anybody knows. */
  isWritable = true
  #address: Address | undefined

  constructor(config: ServerConnectionConfig) {
    super(config)
    this.#network = config.network
  }

  get address(): Address | undefined {
    return this.#address
  }

  get isWaiting(): boolean {
    return this.internals.readyForQuery === false
  }

  get isIdle(): boolean {
    return this.internals.readyForQuery === true && this.getTransactionStatus() === 'I'
  }

  get bytesRead(): number {
    return this.internals.connection.stream.bytesRead
  }

  override connect(): Promise<this>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: any) => void): any {
    const connected = this.#connect()
    if (callback === undefined) return connected
    connected.then(() => callback(null), callback)
  }

  async #connect(): Promise<this> {
    const { servers } = this.#network
    let address: Address
    try {
      address = await servers.locate()
    } catch (error) {
      throw asNeverSent(error)
    }
    try {
      this.#goTo(address)
      await super.connect()
      await this.#greet(address)
    } catch (error) {
      this.internals.connection.stream.destroy()
      const isElsewhere = servers.left(address)
      throw asNeverSent(error, isElsewhere)
    }
    this.#network.watch(this)
    return this
  }

  #goTo(address: Address): void {
    // The pool has given up while the server was looked for.
    if (this.internals.connection.stream.destroyed) throw new Error('timeout expired')
    this.#address = address
    if (this.#network.servers.areSeveral) this.pointTo(address)
  }

  /** Whether the server is the right one, and which of its processes answers; and the server notices when we are gone. */
  async #greet(address: Address): Promise<void> {
    const { servers, isPooled } = this.#network
    if (isPooled && servers.target === 'any') return
    const { rows } = await this.query(
      isPooled ? WRITABLE : `${WRITABLE}, ${OWN_START}, ${keptAlive(this.internals.processID)}`,
    )
    servers.refuseUnfit(address, rows[0])
    this.isWritable = !rows[0].standby && !rows[0].read_only
    const { pid, started_at: startedAt } = rows[0]
    if (pid === this.internals.processID && !isPooled) this.backend = { pid, startedAt }
  }

  cut(why: Error): void {
    this.internals.connection.stream.destroy(why)
  }
}

/** Only where the process is our own: a pooler would give the settings to others. */
function keptAlive(processId: number | null): string {
  const settings = [
    ['tcp_keepalives_idle', SERVER_KEEPS_DEAD_MS / 2_000],
    ['tcp_keepalives_interval', SERVER_KEEPS_DEAD_MS / 4_000],
    ['tcp_keepalives_count', 2],
  ].map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', false)`)
  // Other systems would complain in the server's log.
  const linux = `CASE WHEN pg_catalog.version() LIKE '%linux%' THEN pg_catalog.set_config('tcp_user_timeout', '${SERVER_KEEPS_DEAD_MS}', false) END`
  return `CASE WHEN pg_catalog.pg_backend_pid() = ${Number(processId)} THEN pg_catalog.concat(${settings.join(', ')}, ${linux}) END AS watched`
}
