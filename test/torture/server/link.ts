import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What becomes of connections: those there are, and those that are opened during it. */
export interface Silence {
  /** A path that is broken leaves new ones unanswered, too; a firewall that forgot its connections lets new ones through. */
  alsoNew: boolean
}

interface Pair {
  client: Socket
  server: Socket
  isSilent: boolean
}

/** A network between the engine and its server: it may stop forwarding without closing anything, and lead elsewhere. */
export class Link {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #upstream: number
  #newAreSilent = false

  static async to(port: number): Promise<Link> {
    const link = new Link(port)
    link.#listener.listen(0, '127.0.0.1')
    await once(link.#listener, 'listening')
    return link
  }

  private constructor(upstream: number) {
    this.#upstream = upstream
    this.#listener = createServer((client) => this.#accept(client))
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** New connections go to this port. */
  lead(port: number): void {
    this.#upstream = port
  }

  silence({ alsoNew }: Silence): void {
    this.#newAreSilent = alsoNew
    for (const pair of this.#pairs) this.#hold(pair)
  }

  /** What was held back arrives, or the connections that were silent are reset. */
  restore(end: 'forward' | 'reset'): void {
    this.#newAreSilent = false
    for (const pair of this.#pairs) {
      if (!pair.isSilent) continue
      if (end === 'reset') this.#cut(pair)
      else this.#join(pair)
    }
  }

  close(): void {
    this.#listener.close()
    for (const pair of this.#pairs) this.#cut(pair)
  }

  #accept(client: Socket): void {
    const pair = { client, server: connect(this.#upstream, '127.0.0.1'), isSilent: this.#newAreSilent }
    this.#pairs.add(pair)
    for (const socket of [client, pair.server]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      // A silent one does not hear of the end of the other side either.
      socket.once('close', () => pair.isSilent || this.#cut(pair))
    }
    if (!pair.isSilent) this.#join(pair)
  }

  #join(pair: Pair): void {
    pair.isSilent = false
    if (pair.client.destroyed || pair.server.destroyed) return this.#cut(pair)
    pair.client.pipe(pair.server)
    pair.server.pipe(pair.client)
  }

  #hold(pair: Pair): void {
    pair.isSilent = true
    pair.client.unpipe().pause()
    pair.server.unpipe().pause()
  }

  #cut(pair: Pair): void {
    pair.client.destroy()
    pair.server.destroy()
    this.#pairs.delete(pair)
  }
}
