import { once } from 'node:events'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'

const STARTUP_CODES_WITHOUT_MORE = [80_877_103, 80_877_104]

/**
 * What becomes of a statement: the server runs it and nobody hears of it, or it never gets there; or from then on nobody hears
 * anything, while all that is asked gets there.
 */
export type Loss = 'answer' | 'question' | 'hearing'

interface Trap {
  pattern: RegExp
  /** Only in a transaction that has done this before. */
  after: RegExp
  loss: Loss
  sprung: (looked?: Promise<void>) => void
  /** Until it is done nobody gets through: what was lost can be looked at before anybody mends it. */
  look?: (() => Promise<void>) | undefined
}

/** Between a store and its server: reads along, and can lose what a network loses. */
export class PostgresProxy {
  readonly #server: Server
  #target: { host: string; port: number }
  readonly #links = new Set<Link>()
  #isHeld = false
  #isSilent = false
  readonly traps: Trap[] = []
  /** Every connection there was: what it asked for when it began, and its statements. */
  readonly seen: { settings: Record<string, string>; statements: string[] }[] = []
  /** The most connections there were at the same time. */
  peak = 0
  readonly notifications = { dropped: 0, drop: false }
  /** A statement's text, exchanged on its way; both of the same length. */
  readonly rewrites: [from: string, to: string][] = []
  readonly url: string

  private constructor(server: Server, url: string, target: { host: string; port: number }) {
    this.#server = server
    this.#target = target
    this.url = url
  }

  static async open(targetUrl: string): Promise<PostgresProxy> {
    const url = new URL(targetUrl)
    const target = addressIn(url)
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url.hostname = '127.0.0.1'
    url.port = String((server.address() as { port: number }).port)
    const proxy = new PostgresProxy(server, url.href, target)
    server.on('connection', (socket) => proxy.#accept(socket))
    return proxy
  }

  /** New connections go there, as after a failover by address; those that are open stay where they are. */
  leadTo(targetUrl: string): void {
    this.#target = addressIn(new URL(targetUrl))
  }

  /** Loses the next statement like this one, and the connection with it. Resolves when that has happened, and was looked at. */
  lose(loss: Loss, pattern: RegExp, after: RegExp = /^/, look?: Trap['look']): Promise<void> {
    return new Promise((sprung) => this.traps.push({ pattern, after, loss, sprung, look }))
  }

  springs(trap: Trap): void {
    this.#hold(true)
    trap.sprung(Promise.resolve(trap.look?.()).finally(() => this.#hold(false)))
  }

  #hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    for (const link of this.#links) link.hold(isHeld)
  }

  /**
   * Forwards nothing any more, in no direction, and closes nothing, on the connections that were asked for something like this.
   * What is sent meanwhile gets there when it speaks again, as on a network that is repaired.
   */
  silence(pattern: RegExp): void {
    for (const link of this.#links) if (link.wasAsked(pattern)) link.silence(true)
  }

  /** The same on all others, those to come included. */
  silenceAllBut(pattern: RegExp): void {
    this.#isSilent = true
    for (const link of this.#links) if (!link.wasAsked(pattern)) link.silence(true)
  }

  speak(): void {
    this.#isSilent = false
    for (const link of this.#links) link.silence(false)
  }

  /** Connections there are now. */
  get open(): number {
    return this.#links.size
  }

  #accept(client: Socket): void {
    const link = new Link(this, client, dial(this.#target))
    if (this.#isHeld) link.hold(true)
    if (this.#isSilent) link.silence(true)
    this.#links.add(link)
    this.peak = Math.max(this.peak, this.#links.size)
    client.once('close', () => this.#links.delete(link))
  }

  /** Breaks the connections that were asked for something like this. Answers how many there were. */
  cut(pattern: RegExp): number {
    const links = [...this.#links].filter((link) => link.wasAsked(pattern))
    for (const link of links) link.cut()
    return links.length
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function addressIn({ hostname, port }: URL): { host: string; port: number } {
  return { host: hostname, port: Number(port || 5432) }
}

/** One connection: client, server, and the statement that is being lost. */
class Link {
  readonly #proxy: PostgresProxy
  readonly #client: Socket
  readonly #server: Socket
  #isSilent = false
  #losing: Trap | undefined
  /** Statements that were asked and are not answered yet: several, when they are sent at once. The greeting is the first. */
  #unanswered = 1
  /** Of those, how many will be answered before the one that is being lost. */
  #before = 0
  #transaction = ''
  readonly seen: PostgresProxy['seen'][number] = { settings: {}, statements: [] }
  /** Texts by name. A prepared statement counts each time that it is run, not when it is prepared. */
  readonly #prepared = new Map<string, string>()

  constructor(proxy: PostgresProxy, client: Socket, server: Socket) {
    this.#proxy = proxy
    this.#client = client
    this.#server = server
    proxy.seen.push(this.seen)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => this.cut())
      socket.on('close', () => this.cut())
    }
    const asked = new Messages(true)
    const answered = new Messages(false)
    client.on('data', (chunk) => {
      for (const message of asked.of(chunk)) this.#ask(message)
    })
    server.on('data', (chunk) => {
      for (const message of answered.of(chunk)) this.#answer(message)
    })
  }

  #ask(message: Buffer): void {
    if (isStartup(message)) Object.assign(this.seen.settings, settingsIn(message))
    const prepared = preparedIn(message)
    if (prepared !== undefined) this.#prepared.set(prepared.name, prepared.text)
    const text = prepared === undefined ? (statementIn(message) ?? this.#boundIn(message)) : undefined
    const endsStatement = /[QS]/.test(String.fromCharCode(message[0]!)) && !isStartup(message)
    if (text === undefined) {
      if (endsStatement) this.#unanswered += 1
      return this.#forward(this.#server, message)
    }
    this.seen.statements.push(text)
    this.#transaction = /^BEGIN/.test(text) ? text : `${this.#transaction}\n${text}`
    if (this.#losing === undefined) {
      this.#losing = this.#sprung(text)
      this.#before = this.#unanswered
      if (this.#losing?.loss === 'hearing') this.#losing.sprung()
    }
    if (endsStatement) this.#unanswered += 1
    if (this.#losing?.loss === 'question') return this.#lost()
    const rewritten = this.#proxy.rewrites.reduce((words, [from, to]) => words.replace(from, to), text)
    if (rewritten !== text) message.write(message.toString('latin1').replace(text, rewritten), 'latin1')
    this.#forward(this.#server, message)
  }

  /** The SQL of a 'bind' to a statement that was prepared. */
  #boundIn(message: Buffer): string | undefined {
    if (String.fromCharCode(message[0]!) !== 'B') return undefined
    const name = wordAt(message, message.indexOf(0, 5) + 1)
    return name === '' ? undefined : this.#prepared.get(name)
  }

  #sprung(text: string): Trap | undefined {
    const { traps } = this.#proxy
    const found = traps.findIndex(({ pattern, after }) => pattern.test(text) && after.test(this.#transaction))
    return found === -1 ? undefined : traps.splice(found, 1)[0]
  }

  #answer(message: Buffer): void {
    const kind = String.fromCharCode(message[0]!)
    const { notifications } = this.#proxy
    if (kind === 'A' && notifications.drop) {
      notifications.dropped += 1
      return
    }
    if (kind === 'Z') this.#unanswered -= 1
    if (this.#losing === undefined) return this.#forward(this.#client, message)
    if (this.#losing.loss === 'hearing') return
    // 'ready for query': the statement was run to its end. That was the answer.
    if (this.#before === 0) return kind === 'Z' ? this.#lost() : undefined
    if (kind === 'Z') this.#before -= 1
    this.#forward(this.#client, message)
  }

  #lost(): void {
    this.cut()
    if (this.#losing !== undefined) this.#proxy.springs(this.#losing)
  }

  hold(isHeld: boolean): void {
    if (this.#isSilent) return
    if (isHeld) this.#client.pause()
    else this.#client.resume()
  }

  wasAsked(pattern: RegExp): boolean {
    return this.seen.statements.some((text) => pattern.test(text))
  }

  silence(isSilent: boolean): void {
    this.#isSilent = isSilent
    for (const socket of [this.#client, this.#server]) {
      if (isSilent) socket.pause()
      else socket.resume()
    }
  }

  #forward(socket: Socket, message: Buffer): void {
    if (!socket.destroyed) socket.write(message)
  }

  cut(): void {
    this.#client.destroy()
    this.#server.destroy()
  }
}

/** Cuts a stream into messages: a letter, a length, a body. A client's first ones have no letter. */
class Messages {
  #rest: Buffer = Buffer.alloc(0)
  #greeting: boolean

  constructor(greeting: boolean) {
    this.#greeting = greeting
  }

  *of(chunk: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const head = this.#greeting ? 0 : 1
      if (this.#rest.length < head + 4) return
      const length = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < length) return
      const message = this.#rest.subarray(0, length)
      this.#rest = this.#rest.subarray(length)
      if (this.#greeting) this.#greeting = STARTUP_CODES_WITHOUT_MORE.includes(message.readInt32BE(4))
      yield message
    }
  }
}

/** The SQL of a 'query', or of a 'parse' without a name, which is run at once. */
function statementIn(message: Buffer): string | undefined {
  const kind = String.fromCharCode(message[0]!)
  if (kind === 'Q') return message.toString('latin1', 5, message.length - 1)
  return kind === 'P' ? parsed(message).text : undefined
}

/** A 'parse' with a name: run later, perhaps again and again. */
function preparedIn(message: Buffer): { name: string; text: string } | undefined {
  if (String.fromCharCode(message[0]!) !== 'P') return undefined
  const { name, text } = parsed(message)
  return name === '' ? undefined : { name, text }
}

function parsed(message: Buffer): { name: string; text: string } {
  return { name: wordAt(message, 5), text: wordAt(message, message.indexOf(0, 5) + 1) }
}

function wordAt(message: Buffer, begin: number): string {
  return message.toString('latin1', begin, message.indexOf(0, begin))
}

/** Its first byte is that of a length, no letter. */
function isStartup(message: Buffer): boolean {
  return message[0] === 0 && message.readInt32BE(4) === 3 << 16
}

function settingsIn(message: Buffer): Record<string, string> {
  const words = message.toString('utf8', 8, message.length - 2).split('\0')
  const pairs = words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? '']] : []))
  return Object.fromEntries(pairs)
}
