import { expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchemaOf } from '../../src/http/json-schema.ts'
import { defineTask } from '../../src/index.ts'
import { historyOf } from '../../src/model/metrics-history.ts'
import { Timeline } from '../../src/model/timeline.ts'
import type { WorkerRecord } from '../../src/model/worker.ts'
import { until } from '../until.ts'
import { openServer } from './server.ts'

const MINUTE = 60_000

test('a task says what its input must look like, where its schema can', async () => {
  const { get } = await openServer()
  const { items } = await get('/api/v1/definitions')
  expect(items).toMatchObject([
    { name: 'ml.embed', queue: 'ml', hasInput: true, input: { type: 'object', required: ['path'] } },
    { name: 'plain', hasInput: false, input: null },
    { name: 'nightly', recurs: true },
  ])
  expect(jsonSchemaOf(z.object({ at: z.date() }))).toMatchObject({ type: 'object' })
  const other = {
    '~standard': { version: 1, vendor: 'other', validate: (value: unknown) => ({ value }) },
  } as const
  expect(jsonSchemaOf(other)).toBe(null)
  const throwing = {
    ...other,
    toJsonSchema: () => {
      throw new Error('cannot')
    },
  }
  expect(jsonSchemaOf(throwing)).toBe(null)
})

test('a schedule tells its next occurrences, none while it is paused', async () => {
  const { get, post } = await openServer()
  const [{ nextAt, upcoming }] = (await get('/api/v1/schedules')).items
  expect(upcoming).toEqual([0, 1, 2, 3, 4].map((day) => nextAt + day * 1_440 * MINUTE))
  await post('/api/v1/schedules/nightly/pause')
  expect((await get('/api/v1/schedules')).items).toMatchObject([{ paused: true, upcoming: [] }])
})

test('a queue tells its limits, and who holds them', async () => {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const hold = defineTask({ name: 'hold', queue: 'q', run: () => ended })
  const { gleaner, get, post } = await openServer({}, { tasks: [hold], queues: { q: { concurrency: 1 } } })
  const { body } = await post('/api/v1/tasks', { name: 'hold' })
  gleaner.work()
  await until('it runs', async () => (await get('/api/v1/queues/q/limits')).items[0]?.held === 1)
  expect((await get('/api/v1/queues/q/limits')).items).toMatchObject([
    { scope: { queue: 'q' }, key: null, limit: { concurrency: 1, rate: null }, room: 0, holders: [body.id] },
  ])
  end()
})

test('the system tells its database, what is kept, and what ever happened', async () => {
  const { gleaner, get, post } = await openServer()
  await post('/api/v1/tasks', { name: 'plain' })
  await gleaner.work().drained()
  await gleaner.metrics()
  const system = await get('/api/v1/system')
  expect(system).toMatchObject({
    database: { kind: 'sqlite', durability: 'full' },
    retention: { completed: { ageMs: 7 * 24 * 60 * MINUTE, count: null } },
    totals: { enqueued: 1, completed: 1 },
    supervisors: [],
  })
  expect(system.database.migrations.at(-1).version).toBeGreaterThan(10)
  expect(system.database.bytes).toBeGreaterThan(4_096)
})

test('the history has every step, and depth follows from what came and went', () => {
  const now = 1_000 * 60 * MINUTE + 30_000
  const measured = { queue: 'q', name: 'n', failed: 0, retried: 0, durations: new Map() }
  const { steps, stepMs } = historyOf(
    {
      now,
      present: [{ queue: 'q', name: 'n', scheduled: 1, queued: 2, running: 0, waitingSince: null }],
      minutes: [
        { ...measured, minute: now - 30_000, enqueued: 0, completed: 4 },
        { ...measured, minute: now - 30_000 - MINUTE, enqueued: 5, completed: 1 },
        { ...measured, queue: ':rows', minute: now - 30_000, enqueued: 0, completed: 9 },
      ],
    },
    'hour',
  )
  expect([steps.length, stepMs, steps.at(-1)!.at]).toEqual([60, MINUTE, now - 30_000])
  expect(steps.slice(-3).map(({ depth, completed, rowsDone }) => [depth, completed, rowsDone])).toEqual([
    [3, 0, 0],
    [7, 1, 0],
    [3, 4, 9],
  ])
})

test('a timeline keeps what changed, and how processes ended, and never grows beyond its bounds', () => {
  const timeline = new Timeline()
  const record = {
    id: 'worker:ml:0',
    status: 'running',
    health: 'healthy',
    phase: 'idle',
    pid: 7,
    current: [],
    lastExit: null,
  } as unknown as WorkerRecord
  timeline.saw(record, 1)
  timeline.saw(record, 2)
  timeline.saw({ ...record, phase: 'processing', current: [{ item: 'a/1', since: 2, deadline: null }] }, 3)
  const lastExit = {
    at: 4,
    code: null,
    signal: 'SIGKILL',
    reason: 'killed',
    phase: 'processing',
    rss: 1,
  } as const
  timeline.saw({ ...record, status: 'crashed', health: 'unhealthy', phase: null, pid: null, lastExit }, 4)
  timeline.saw(
    {
      ...record,
      status: 'failed',
      health: 'failed',
      phase: null,
      pid: null,
      lastExit: { ...lastExit, reason: 'killed; given up' },
    },
    5,
  )
  const [lane] = timeline.lanes
  expect(lane!.stretches.map(({ from, phase, status }) => [from, status, phase])).toEqual([
    [1, 'running', 'idle'],
    [3, 'running', 'processing'],
    [4, 'crashed', null],
    [5, 'failed', null],
  ])
  expect(lane!.exits).toEqual([{ ...lastExit, reason: 'killed; given up', pid: 7, items: ['a/1'] }])
  for (let at = 6; at < 2_000; at++) timeline.saw({ ...record, pid: at, lastExit: { ...lastExit, at } }, at)
  expect([lane!.stretches.length, lane!.exits.length]).toEqual([300, 50])
})
