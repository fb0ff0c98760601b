import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type Gap, GapFinder } from '../gaps.ts'

/** Where, of everything that is sent for one answer: before it is sent; in the middle of it; done, and not yet answered. */
export type Moment = 'before' | 'within' | 'unanswered'

export interface KillPoint {
  /** Of the steps since `begin`; null: no step, the server is killed when the operation is over. */
  gap: Gap | null
  moment: Moment
}

/** Waking others, renewing, and the greeting of a new connection: clocks and pools decide when these are sent. */
const NO_STEP =
  /^\s*(SELECT (pg_catalog\.)?(set_config\('synchronous_commit', 'off', true\), (pg_catalog\.)?pg_notify|pg_backend_pid\(\) AS pid)|LISTEN)|UPDATE \S+sessions SET renew/i

/**
 * Stands between the engine and its server, and understands what they say to each other: it counts the steps of an operation, and
 * calls `kill` in the middle of one. What the server said before its death and had not been passed on is lost.
 */
export class MessageProxy {
  /** Statements that are sent together, and answered together. */
  readonly steps: string[][] = []
  /** Called with the backend that serves the step. */
  kill: (backend: number) => Promise<void> = async () => {}
  readonly #server: Server
  readonly #upstream: number
  readonly #connections = new Set<Connection>()
  #gaps = new GapFinder()
  #point: KillPoint | undefined
  #counting = false
  #isMet = false
  #killed: Promise<void> | undefined

  static async before(port: number): Promise<MessageProxy> {
    const proxy = new MessageProxy(port)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  private constructor(upstream: number) {
    this.#upstream = upstream
    this.#server = createServer((client) => {
      const connection = new Connection(client, connect(this.#upstream, '127.0.0.1'), this)
      this.#connections.add(connection)
      client.once('close', () => this.#connections.delete(connection))
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** For the next operation. */
  reset(): void {
    this.steps.length = 0
    this.#gaps = new GapFinder()
    this.#point = undefined
    this.#killed = undefined
    this.#counting = false
    this.#isMet = false
  }

  /** From here on, what is sent are steps. */
  begin(point?: KillPoint): void {
    this.#point = point
    this.#counting = true
  }

  /** The operation is over. */
  end(): void {
    this.#counting = false
  }

  /** The operation came to the point. */
  get isMet(): boolean {
    return this.#isMet
  }

  /** Between `begin` and the end, or the death of the server. */
  get isCounting(): boolean {
    return this.#counting && this.#killed === undefined
  }

  /** Settled when the server has been killed and `kill` has returned; undefined: the point was not reached. */
  get killed(): Promise<void> | undefined {
    return this.#killed
  }

  /** What is to happen to this step. */
  next(sql: string[]): Moment | undefined {
    if (!this.isCounting || sql.every((text) => NO_STEP.test(text))) return undefined
    this.steps.push(sql)
    this.#gaps.next(nameOf(sql))
    const { gap = null, moment } = this.#point ?? {}
    if (gap === null || !this.#gaps.isAt(gap)) return undefined
    this.#isMet = true
    return moment
  }

  strike(backend: number): void {
    this.#killed ??= this.kill(backend)
    this.#killed.catch(() => {})
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const connection of this.#connections) connection.cut()
  }
}

/** Of a step, for `Gap`. */
export function nameOf(sql: readonly string[]): string {
  return sql.join(';\n')
}

/** A message; the first of a connection has no type. */
interface Message {
  type: string
  bytes: Buffer
}

const FLUSH = Buffer.from([0x48, 0, 0, 0, 4])

class Connection {
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #proxy: MessageProxy
  readonly #asked = new MessageReader(true)
  readonly #answered = new MessageReader(false)
  readonly #prepared = new Map<string, string>()
  /** Since the last one that asks for an answer. */
  #group: Message[] = []
  #isReady = false
  #backend = 0
  /** Answers that are still passed on, or the end of the step, whichever comes first; then the server is killed. */
  #strikeAfter: number | 'all' | undefined

  constructor(client: Socket, upstream: Socket, proxy: MessageProxy) {
    this.#client = client
    this.#upstream = upstream
    this.#proxy = proxy
    client.on('data', (bytes) => this.#ask(bytes))
    upstream.on('data', (bytes) => this.#answer(bytes))
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.once('close', () => this.cut())
    }
  }

  cut(): void {
    this.#client.destroy()
    this.#upstream.destroy()
  }

  #ask(bytes: Buffer): void {
    for (const message of this.#asked.read(bytes)) {
      if (!this.#isReady) this.#upstream.write(message.bytes)
      else this.#collect(message)
    }
  }

  #collect(message: Message): void {
    this.#group.push(message)
    if (!['Q', 'S', 'X'].includes(message.type)) return
    const group = this.#group
    this.#group = []
    const moment = message.type === 'X' ? undefined : this.#proxy.next(this.#textsOf(group))
    if (moment === 'before') return this.#strike()
    this.#send(group, moment)
  }

  #send(group: Message[], moment: Moment | undefined): void {
    const executed = group.flatMap(({ type }, at) => (type === 'E' ? [at] : []))
    // Of a single statement nothing can be left away.
    if (moment === 'within' && executed.length > 1) {
      const cut = executed.at(-2)! + 1
      this.#strikeAfter = executed.length - 1
      this.#upstream.write(Buffer.concat([...group.slice(0, cut).map(({ bytes }) => bytes), FLUSH]))
      return
    }
    if (moment !== undefined) this.#strikeAfter = 'all'
    this.#upstream.write(Buffer.concat(group.map(({ bytes }) => bytes)))
  }

  #answer(bytes: Buffer): void {
    for (const message of this.#answered.read(bytes)) {
      if (message.type === 'K') this.#backend = message.bytes.readInt32BE(5)
      if (message.type === 'Z') this.#isReady = true
      if (this.#strikeAfter === undefined) this.#client.write(message.bytes)
      else if (this.#isStruckBy(message)) return this.#strike()
    }
  }

  /** Answers are passed on as long as they are not the last ones. */
  #isStruckBy({ type, bytes }: Message): boolean {
    if (this.#strikeAfter === 'all') return type === 'Z'
    this.#client.write(bytes)
    if (type === 'C') this.#strikeAfter = (this.#strikeAfter as number) - 1
    return this.#strikeAfter === 0 || type === 'E'
  }

  #strike(): void {
    this.#strikeAfter = 'all'
    this.#upstream.removeAllListeners('data')
    this.#upstream.resume()
    this.#proxy.strike(this.#backend)
  }

  #textsOf(group: readonly Message[]): string[] {
    return group.flatMap(({ type, bytes }) => {
      if (type === 'Q') return [textAt(bytes, 5)]
      if (type === 'P') {
        const name = textAt(bytes, 5)
        const text = textAt(bytes, 6 + Buffer.byteLength(name))
        this.#prepared.set(name, text)
        return []
      }
      if (type !== 'B') return []
      const portal = textAt(bytes, 5)
      return [this.#prepared.get(textAt(bytes, 6 + Buffer.byteLength(portal))) ?? '(unknown)']
    })
  }
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start))
}

/** Cuts a stream into messages. */
class MessageReader {
  #rest: Buffer = Buffer.alloc(0)
  #isFirst: boolean

  constructor(beginsWithoutType: boolean) {
    this.#isFirst = beginsWithoutType
  }

  read(bytes: Buffer): Message[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const messages: Message[] = []
    for (;;) {
      const lengthAt = this.#isFirst ? 0 : 1
      if (this.#rest.length < lengthAt + 4) return messages
      const end = lengthAt + this.#rest.readInt32BE(lengthAt)
      if (this.#rest.length < end) return messages
      const type = this.#isFirst ? '' : String.fromCharCode(this.#rest[0]!)
      messages.push({ type, bytes: this.#rest.subarray(0, end) })
      this.#rest = this.#rest.subarray(end)
      this.#isFirst = false
    }
  }
}
