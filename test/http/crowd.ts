import { connect, type Socket } from 'node:net'
import { defineTask } from '../../src/index.ts'

/** Loaded in processes that run no tests. */
export const plain = defineTask({ name: 'plain', run: async () => {} })

const REQUEST = 'GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** Clients of the events that cost next to nothing themselves: of what they hear they keep the end. */
export class Crowd {
  readonly #sockets: Socket[]
  /** Of what each has heard, but for those who are stuck. */
  readonly #ends: string[]
  #heard: () => void = () => {}

  private constructor(sockets: Socket[], stuck: number) {
    this.#sockets = sockets
    this.#ends = Array(sockets.length - stuck).fill('')
    for (const [n, socket] of sockets.entries()) {
      socket.on('error', () => {})
      // Asks, and takes nothing of what it is sent.
      if (n < stuck) socket.pause()
      else socket.on('data', (chunk) => this.#hear(n - stuck, chunk))
      socket.write(REQUEST)
    }
  }

  static async join(url: string, clients: number, stuck: number): Promise<Crowd> {
    const port = Number(new URL(url).port)
    const joining = Array.from({ length: clients }, () => joined(port))
    return new Crowd(await Promise.all(joining), stuck)
  }

  /** All who listen have heard this. */
  async hears(text: string): Promise<void> {
    if (this.#ends.every((end) => end.includes(text))) return
    await new Promise<void>((resolve) => {
      this.#heard = resolve
    })
    return this.hears(text)
  }

  async leave(): Promise<void> {
    const gone = this.#sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(gone)
  }

  #hear(n: number, chunk: Buffer): void {
    this.#ends[n] = (this.#ends[n]! + chunk.toString('latin1')).slice(-4_000)
    this.#heard()
  }
}

function joined(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket))
    socket.once('error', reject)
  })
}
