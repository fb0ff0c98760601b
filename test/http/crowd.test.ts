import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from './listener.ts'
import { openServer, plain } from './server.ts'

/** The long form: GLEANER_CROWD_TASKS=50000. */
const TASKS = Number(process.env.GLEANER_CROWD_TASKS ?? 3_000)
const CLIENTS = 200
const STUCK = 20

/** Asks, and then takes nothing of what it is sent. */
async function stuckClient(url: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  socket.pause()
  return socket
}

test('200 clients, 20 of them stuck, hear of the end of many tasks, and cost little memory', async () => {
  const { gleaner, url, get } = await openServer()
  await gleaner.enqueueMany(plain, Array(TASKS).fill(undefined))
  const clients = await Promise.all(
    Array.from({ length: CLIENTS - STUCK }, () => listen(`${url}/api/v1/events?topics=counts`)),
  )
  await Promise.all(Array.from({ length: STUCK }, () => stuckClient(url)))
  await Promise.all(clients.map((client) => client.until(({ event }) => event === 'counts')))
  const before = process.memoryUsage().rss
  await gleaner.work({ concurrency: 20 }).drained()
  await Promise.all(clients.map((client) => client.until(({ data }) => data.counts.completed === TASKS)))
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  expect(await get('/metrics')).toContain(`gleaner_event_clients ${CLIENTS}`)
  expect((await get('/api/v1/stats')).counts.completed).toBe(TASKS)
}, 180_000)
