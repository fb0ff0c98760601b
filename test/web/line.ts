import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A line between a browser and a server, that can be cut and mended. */
export async function lineTo(
  url: string,
): Promise<{ url: string; cut(): Promise<void>; mend(): Promise<void>; close(): Promise<void> }> {
  const { port } = new URL(url)
  const sockets = new Set<Socket>()
  const exchange = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) => {
      exchange.once('error', reject)
      exchange.listen(at, '127.0.0.1', resolve)
    })
  const cut = () =>
    new Promise<void>((resolve) => {
      exchange.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  await listen(0)
  const near = (exchange.address() as AddressInfo).port
  const close = async () => {
    if (exchange.listening) await cut()
  }
  return { url: `http://127.0.0.1:${near}`, cut, mend: () => listen(near), close }
}
