import type pg from 'pg'
import type { PostgresOptions } from '../../ports/database.ts'
import { connectionConfig } from './connection-config.ts'
import { type Address, readServerUrl } from './server-url.ts'
import { Servers } from './servers.ts'
import { timeoutsOf } from './settings.ts'
import { Silence, type Watched } from './silence.ts'

const QUERY_TIMEOUT_MS = 20_000
/** An idle connection is used that often within the time in which a dead one is to be noticed. */
const BEATS = 6

interface Connection extends Watched {
  /** In no transaction, and asked nothing. */
  readonly isIdle: boolean
  /** When it was opened, the server accepted writes, as far as anybody knows. */
  readonly isWritable: boolean
  once(event: 'end', listener: () => void): unknown
}

/** How the connections of a store reach its server: where it is, and whether each of them still does. */
export class Network {
  readonly config: pg.ClientConfig
  readonly servers: Servers
  /** Behind a pooler that changes connections nobody knows which process of the server answers. */
  readonly isPooled: boolean
  readonly beatMs: number
  readonly #silence: Silence
  readonly #connections = new Set<Connection>()

  constructor(options: PostgresOptions) {
    this.config = connectionConfig(options)
    this.servers = new Servers(readServerUrl(options.url), this.config)
    this.isPooled = options.notify === false
    const { queryTimeoutMs = QUERY_TIMEOUT_MS } = options
    this.beatMs = queryTimeoutMs / BEATS
    this.#silence = new Silence({
      config: this.config,
      queryTimeoutMs,
      answeredWithinMs: timeoutsOf(options).statement_timeout + queryTimeoutMs,
      onDead: ({ address }) => this.leave(address),
    })
  }

  watch(connection: Connection): void {
    this.#connections.add(connection)
    this.#silence.watch(connection)
    connection.once('end', () => {
      this.#connections.delete(connection)
      this.#silence.forget(connection)
    })
    // The address is that of another server now.
    if (connection.isWritable) this.#cutIdle((one) => !one.isWritable)
  }

  /** The server at the other end is silent, or the wrong one: nothing else is asked on a connection to it. */
  leave(address: Address | undefined = this.servers.current): void {
    if (address === undefined) return
    this.servers.left(address)
    this.#cutIdle((connection) => connection.address === address)
  }

  #cutIdle(isMeant: (connection: Connection) => boolean): void {
    for (const connection of this.#connections)
      if (connection.isIdle && isMeant(connection)) connection.cut(leaving())
  }

  close(): void {
    this.#silence.close()
  }
}

function leaving(): Error {
  return Object.assign(new Error('the server is left'), { code: 'ECONNRESET' })
}
