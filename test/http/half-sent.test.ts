import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../until.ts'
import { ask, openServer, plain } from './server.ts'

const HELD = 2_050
const START = 'POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n'
/** Less than the 30 s after which a half-sent request is closed: so long a client would wait without the limit. */
const SOON_MS = 20_000

async function hold(port: number, count: number, text: string): Promise<Socket[]> {
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  let written = 0
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(text, () => (written += 1))
    sockets.push(socket)
  }
  await until('all have sent the half, or were closed', () =>
    sockets.every((socket) => socket.closed || !socket.connecting),
  )
  expect(written).toBeGreaterThan(0)
  return sockets
}

test.each([
  ['the half of a head', START],
  ['a head without its body', `${START}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`],
])('clients that hold 2 050 connections with %s lock out nobody', async (_, text) => {
  const { url, port } = await openServer()
  await hold(port, HELD, text)
  for (let n = 0; n < 3; n++) {
    const answer = await Promise.race([
      ask(url, '/api/v1/info', { headers: { connection: 'close' } }),
      new Promise<null>((resolve) => setTimeout(resolve, SOON_MS, null).unref()),
    ])
    expect(answer).toMatchObject({ status: 200 })
  }
})

test('a stream of events stays open while others hold connections', async () => {
  const { url, port, gleaner } = await openServer()
  const stream = await fetch(`${url}/api/v1/events?topics=counts`, { headers: { origin: url } })
  const reader = stream.body!.getReader()
  expect((await reader.read()).done).toBe(false)
  await hold(port, HELD, START)
  expect(stream.status).toBe(200)
  await gleaner.enqueue(plain)
  expect((await reader.read()).done).toBe(false)
  await reader.cancel()
})
