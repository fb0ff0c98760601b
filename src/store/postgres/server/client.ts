import type { Socket } from 'node:net'
import pg from 'pg'
import type { Address } from './server-url.ts'

/** A connection that does not end within that time is cut off: a server that is silent would never answer. */
const CLOSE_WITHIN_MS = 1_000

/** What the driver does not declare. */
interface Internals {
  connection: { stream: Socket }
  connectionParameters: object
  readyForQuery?: boolean
  processID: number | null
}

/** The driver's client, which can be sent elsewhere before it connects, and which always ends. */
export class Client extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config)
    // The server may end a connection in a moment in which no other listener is registered. The next query fails then.
    this.on('error', () => {})
  }

  /** Instead of to the server that its URL names. */
  pointTo(address: Address): void {
    Object.assign(this, address)
    Object.assign(this.internals.connectionParameters, address)
  }

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): any {
    const { stream } = this.internals.connection
    const forced = setTimeout(() => stream.destroy(), CLOSE_WITHIN_MS).unref()
    stream.once('close', () => clearTimeout(forced))
    return callback === undefined ? super.end() : super.end(callback)
  }

  protected get internals(): Internals {
    return this as unknown as Internals
  }
}
