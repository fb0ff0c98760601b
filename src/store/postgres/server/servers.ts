import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { StoreError } from '../../../errors.ts'
import { Client } from './client.ts'
import type { Address, ServerUrl, TargetServer } from './server-url.ts'
import { WRITABLE, type Writable } from './writable.ts'

/** A server that does not answer at once does not keep the others waiting. */
const STAGGER_MS = 300

/** The servers that the URL names, and which of them is the right one at the time. */
export class Servers {
  readonly target: TargetServer
  readonly #config: pg.ClientConfig
  readonly #urls: ServerUrl['urls']
  #known: readonly Address[] | undefined
  #current: Address | undefined
  #locating: Promise<Address> | undefined

  constructor({ urls, target }: ServerUrl, config: pg.ClientConfig) {
    this.target = target
    this.#config = config
    this.#urls = urls
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1
  }

  /** Read when they are needed: the driver reads the certificates that a URL names, too. */
  get #addresses(): readonly Address[] {
    this.#known ??= this.#urls.map(addressIn)
    return this.#known
  }

  /** The one that is used; undefined: nobody knows where it is. */
  get current(): Address | undefined {
    return this.areSeveral ? this.#current : this.#addresses[0]
  }

  /** Where to connect to. Of several servers each is asked, and the first that fits is remembered. */
  async locate(): Promise<Address> {
    if (!this.areSeveral) return this.#addresses[0]!
    if (this.#current !== undefined) return this.#current
    this.#locating ??= this.#search().finally(() => {
      this.#locating = undefined
    })
    return this.#locating
  }

  /** It is not the right one any more. Whether it is worth looking for another. */
  left(address: Address): boolean {
    if (this.#current !== address) return false
    this.#current = undefined
    return true
  }

  /** Throws what a connection to a server that does not fit ends with. */
  refuseUnfit(address: Address, { standby, read_only }: Writable): void {
    if (this.target === 'any' || !(standby || (this.target === 'read-write' && read_only))) return
    const why = standby ? 'is a standby' : 'accepts no writes'
    throw Object.assign(new Error(`${nameOf(address)} ${why}`), { code: '25006' })
  }

  async #search(): Promise<Address> {
    let isFound = false
    const asked = new Set<Client>()
    let before: Promise<unknown> = Promise.resolve()
    const attempts = this.#addresses.map((address, place) => {
      const turn = place === 0 ? before : Promise.race([before, setTimeout(place * STAGGER_MS)])
      const attempt = turn.then(() => (isFound ? address : this.#ask(address, asked)))
      before = attempt.catch(() => {})
      return attempt
    })
    try {
      this.#current = await Promise.any(attempts)
      return this.#current
    } catch (error) {
      throw this.#noneFits((error as AggregateError).errors)
    } finally {
      isFound = true
      // Some may be silent: nobody waits for them.
      for (const client of asked) client.end().catch(() => {})
    }
  }

  async #ask(address: Address, asked: Set<Client>): Promise<Address> {
    const client = pointedAt(address, this.#config)
    asked.add(client)
    try {
      await client.connect()
      const { rows } = await client.query(WRITABLE)
      this.refuseUnfit(address, rows[0])
      return address
    } finally {
      asked.delete(client)
      client.end().catch(() => {})
    }
  }

  #noneFits(errors: readonly (Error & { code?: string })[]): StoreError {
    const each = errors.map(({ code, message }, place) => {
      const name = nameOf(this.#addresses[place]!)
      return message.startsWith(name) ? message : `${name}: ${message || code}`
    })
    const wanted = this.target === 'any' ? 'answers' : `is ${this.target}`
    return new StoreError(`PostgreSQL: no server ${wanted} (${each.join('; ')})`, {
      code: 'STORE_AWAY',
      hint: 'Gleaner connects as soon as one is.',
      cause: errors[0],
    })
  }
}

/** A connection that is used once, to a server that may be silent. */
export function pointedAt(address: Address, config: pg.ClientConfig): Client {
  const client = new Client({ ...config, query_timeout: config.connectionTimeoutMillis })
  client.pointTo(address)
  return client
}

/** As the driver reads it, with its defaults. */
function addressIn(url: string): Address {
  const { host, port } = new pg.Client({ connectionString: url })
  return { host, port }
}

function nameOf({ host, port }: Address): string {
  return `${host}:${port}`
}
