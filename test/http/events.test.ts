import { connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { EventLog } from '../../src/http/events/event-log.ts'
import { Hub, type Topic } from '../../src/http/events/hub.ts'
import { openGleaner } from '../../src/index.ts'
import type { Change } from '../../src/store/ports/change.ts'
import { tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'
import { listen } from './listener.ts'
import { DATABASES, openServer, plain } from './server.ts'

const FAST = { timings: { lookMs: 1, pollMs: 30_000 } }

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  test('whoever listens is told how things are, and then what changes', async () => {
    const { gleaner, url } = await openServer(FAST, database())
    const events = await listen(`${url}/api/v1/events?topics=counts`)
    const first = await events.until(({ event }) => event === 'counts')
    expect(first.data.counts).toMatchObject({ queued: 0, completed: 0 })
    await gleaner.enqueue(plain)
    await events.until(({ data }) => data.counts.queued === 1)
    await gleaner.work().drained()
    const last = await events.until(({ data }) => data.counts.completed === 1)
    expect(last.data.queues).toMatchObject([{ name: 'default', completed: 1 }])
  })

  test('what happens in another process is told, too', async () => {
    const shared = { database: `sqlite:${tempDatabase()}`, ...database() }
    const { url } = await openServer(FAST, shared)
    const other = await openGleaner({ tasks: [plain], ...shared })
    onTestFinished(() => other.close())
    const events = await listen(`${url}/api/v1/events`)
    await events.until(({ event }) => event === 'counts')
    await other.enqueue(plain)
    await events.until(({ event, data }) => event === 'counts' && data.counts.queued === 1)
  })

  test('a task that is watched tells each of its changes, and its end', async () => {
    const { gleaner, url } = await openServer(FAST, database())
    const { id } = await gleaner.enqueue(plain)
    const events = await listen(`${url}/api/v1/events?topics=counts&tasks=${id},4711`)
    const statusOf = (status: string) =>
      events.until(({ event, data }) => event === 'task' && data.id === id && data.task?.status === status)
    await statusOf('queued')
    await gleaner.work().drained()
    await statusOf('completed')
    await gleaner.tasks.remove(id)
    await events.until(({ event, data }) => event === 'task' && data.id === id && data.task === null)
    expect(events.heard).toContainEqual(expect.objectContaining({ data: { id: '4711', task: null } }))
  })
})

test('at most four a second are told of a topic, however much happens, and the last state always', async () => {
  const { gleaner, url } = await openServer()
  const events = await listen(`${url}/api/v1/events?topics=counts`)
  await events.until(({ event }) => event === 'counts')
  const sinceMs = performance.now()
  for (let n = 0; n < 300; n++) await gleaner.enqueue(plain)
  await events.until(({ data }) => data.counts.queued === 300)
  const told = events.heard.length - 1
  expect(told).toBeLessThanOrEqual(Math.ceil((performance.now() - sinceMs) / 250) + 1)
})

describe('whoever comes back', () => {
  test('goes on after the last event that he has seen', async () => {
    const { gleaner, url } = await openServer(FAST)
    const stays = await listen(`${url}/api/v1/events?topics=counts`)
    const { id } = await stays.until(({ event }) => event === 'counts')
    for (const count of [1, 2, 3]) {
      await gleaner.enqueue(plain)
      await stays.until(({ data }) => data.counts.queued === count)
    }
    const back = await listen(`${url}/api/v1/events?topics=counts`, { 'last-event-id': id! })
    await back.until(({ data }) => data.counts.queued === 3)
    expect(back.heard).toEqual(stays.heard.slice(1))
  })

  test('is told that there is a gap when the server was another one, and then how things are', async () => {
    const { url } = await openServer(FAST)
    for (const lost of ['0123456789ab.0', '0123456789ab.7', 'made up']) {
      const back = await listen(`${url}/api/v1/events?topics=counts`, { 'last-event-id': lost })
      expect(await back.until(() => true)).toEqual({ id: null, event: 'gap', data: { reason: 'restarted' } })
      await back.until(({ event }) => event === 'counts')
    }
  })

  test('is told that there is a gap when too much happened meanwhile', async () => {
    let state = 0
    const hub = hubOf(async () => state)
    const stays = hub.subscribe({ topics: ['counts'], tasks: [] }, null)
    const first = /id: (\S+)/.exec((await nextEvent(stays))!)![1]!
    for (state = 1; state <= 2_100; state++) {
      hub.changed()
      await nextEvent(stays)
    }
    const back = hub.subscribe({ topics: ['counts'], tasks: [] }, first)
    const text = await back.next()
    expect(text).toContain('event: gap\ndata: {"reason":"too-late"}')
    expect(text).toContain('data: 2100')
    expect(text!.length).toBeLessThan(300)
  })
})

test('a client that takes nothing costs nothing: it has a place, and is told of a gap when it goes on', async () => {
  let state = 0
  const hub = hubOf(async () => `${state} ${'x'.repeat(10_000)}`)
  const stuck = hub.subscribe({ topics: ['counts'], tasks: [] }, null)
  const stays = hub.subscribe({ topics: ['counts'], tasks: [] }, null)
  await nextEvent(stuck)
  for (state = 1; state <= 600; state++) {
    hub.changed()
    await until('it is told', async () => (await nextEvent(stays))!.includes(`"${state} `))
  }
  // Of six megabytes the log keeps four, for all clients together.
  const text = await stuck.next()
  expect(text).toContain('too-late')
  expect(text!.length).toBeLessThan(25_000)
})

test('a log of events forgets the oldest by their size', () => {
  const log = new EventLog()
  for (let n = 0; n < 10; n++) log.add('t', 't', 'x'.repeat(1024 * 1024))
  expect([...log.after(0)].length).toBeLessThanOrEqual(4)
  expect(log.reaches(0)).toBe(false)
  expect(log.reaches(log.seq)).toBe(true)
})

test('a topic that cannot be read silences no other', async () => {
  const hub = hubOf(() => Promise.reject(new Error('its table is gone')))
  const client = hub.subscribe({ topics: ['counts'], tasks: ['7'] }, null)
  expect(await nextEvent(client)).toContain('event: task')
})

test('a topic that takes long keeps no other waiting, and who has acted sees it at once', async () => {
  const hub = hubOf(
    async () => hub.looks++,
    () => new Promise(() => {}),
  )
  const client = hub.subscribe({ topics: ['slow', 'counts'], tasks: [] }, null)
  expect(await nextEvent(client)).toContain('data: 0')
  hub.changed()
  // Who looks rests an hour, and so does the topic, unless somebody waits.
  hub.acted()
  expect(await nextEvent(client)).toContain('data: 1')
}, 30_000)

test('nobody looks while nobody listens', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let looks = 0
  const hub = hubOf(async () => ++looks)
  hub.changed()
  expect(vi.getTimerCount()).toBe(0)
  const client = hub.subscribe({ topics: ['counts'], tasks: [] }, null)
  const event = nextEvent(client)
  await vi.advanceTimersToNextTimerAsync()
  expect(await event).toContain('data: 1')
  hub.changed()
  hub.unsubscribe(client)
  hub.changed()
  expect({ timers: vi.getTimerCount(), listeners: hub.listeners(), looks }).toEqual({
    timers: 0,
    listeners: 0,
    looks: 1,
  })
})

test('a client that leaves, or never reads, leaves nothing behind', async () => {
  const { url, get } = await openServer(FAST)
  const clients = async () =>
    Number(/gleaner_event_clients (\d+)/.exec((await get('/metrics')) as string)![1])
  const events = await listen(`${url}/api/v1/events`)
  await events.until(() => true)
  expect(await clients()).toBe(1)
  await fetch(`${url}/api/v1/events`, { method: 'HEAD' })
  const rude = connect(Number(new URL(url).port), '127.0.0.1')
  rude.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until('the rude one is served', async () => (await clients()) === 2)
  rude.destroy()
  events.leave()
  await until('both are forgotten', async () => (await clients()) === 0)
})

test('streams end when the server closes, which waits for none of them', async () => {
  const server = await openServer(FAST)
  const events = await listen(`${server.url}/api/v1/events`)
  await events.until(() => true)
  await server.close()
  // Who is waited for until the server loses its patience is cut off.
  expect(await events.ended).toBe('ended')
})

test('there is a limit to clients and to what they watch', async () => {
  const hub = hubOf(async () => 0)
  for (let n = 0; n < 10; n++)
    hub.subscribe({ topics: [], tasks: Array.from({ length: 100 }, (_, i) => `${n * 100 + i}`) }, null)
  expect(() => hub.subscribe({ topics: [], tasks: ['one-more'] }, null)).toThrow(/1000 tasks are watched/)
  for (let n = 10; n < 1_000; n++) hub.subscribe({ topics: ['counts'], tasks: [] }, null)
  expect(() => hub.checkRoom({ topics: ['counts'], tasks: [] })).toThrow(/1000 clients are connected already/)
})

test('topics that are none are refused', async () => {
  const { call } = await openServer()
  expect(await call('/api/v1/events?topics=counts,secrets')).toMatchObject({ status: 400 })
  expect(await call(`/api/v1/events?tasks=${Array(101).fill('1').join(',')}`)).toMatchObject({ status: 400 })
})

/** A hub without a database, whose one topic is what `read` says. */
function hubOf(read: () => Promise<unknown>, readSlowly?: () => Promise<unknown>) {
  const listeners = new Set<(change: Change) => void>()
  const store = {
    onChange(listener: (change: Change) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    tasks: { getTask: async () => null },
  }
  const slow: Record<string, Topic> =
    readSlowly === undefined ? {} : { slow: { read: readSlowly, isSlow: true } }
  // The slow one first: it is asked in the order of the topics.
  const restMs = readSlowly === undefined ? 0 : 3_600_000
  const topics = { ...slow, counts: { read, everyMs: restMs } }
  const timings = { lookMs: restMs, pollMs: 30_000 }
  const hub = new Hub({ store, topics, redact: (value) => value, timings })
  onTestFinished(() => hub.close())
  return Object.assign(hub, {
    changed: () => {
      for (const listener of listeners) listener({ kind: 'work' })
    },
    listeners: () => listeners.size,
    looks: 0,
  })
}

async function nextEvent(client: { next(): Promise<string | null> }): Promise<string | null> {
  let text = await client.next()
  while (text !== null && !text.includes('event:')) text = await client.next()
  return text
}
