import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network between a client and a server that can be cut. */
export class CuttingProxy {
  readonly #server = createServer((client) => this.#pass(client))
  readonly #sockets = new Set<Socket>()
  readonly #port: number
  /** Nothing passes. */
  isCut = false
  /** Requests pass, and no answer does. */
  losesAnswers = false

  constructor(port: number) {
    this.#port = port
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  cut(): void {
    this.isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.isCut = false
    this.losesAnswers = false
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #pass(client: Socket): void {
    if (this.isCut) return void client.destroy()
    const server = connect(this.#port, '127.0.0.1')
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => this.#sockets.delete(socket))
    }
    client.pipe(server)
    server.on('data', (answer) => (this.losesAnswers ? client.destroy() : client.write(answer)))
    server.once('close', () => client.destroy())
    client.once('close', () => server.destroy())
  }
}
