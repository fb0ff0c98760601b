import { expect, test } from 'vitest'
import { z } from 'zod'
import { insideOf } from '../../src/engine/inside.ts'
import { jsonSchemaOf } from '../../src/http/protocol/json-schema.ts'
import { defineTask } from '../../src/index.ts'
import { historyOf } from '../../src/model/metrics-history.ts'
import { recordedOf, withRecorded } from '../../src/model/recorded-lane.ts'
import { rowHistoryOf } from '../../src/model/row-history.ts'
import { Timeline } from '../../src/model/timeline.ts'
import type { Health, WorkerRecord } from '../../src/model/worker.ts'
import { tempDatabase } from '../temp-database.ts'
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

test('tasks are listed by what they require', async () => {
  const { get, post } = await openServer()
  const options = { requires: { region: 'eu', gpu: true } }
  const { id } = (await post('/api/v1/tasks', { name: 'plain', options })).body
  await post('/api/v1/tasks', { name: 'plain' })
  for (const words of ['region=eu', 'gpu=true', 'region=eu,gpu=true'])
    expect((await get(`/api/v1/tasks?requires=${encodeURIComponent(words)}`)).items).toMatchObject([{ id }])
  expect((await get('/api/v1/tasks?requires=region%3Dus')).items).toEqual([])
  const filter = { requires: { region: 'eu' } }
  expect((await post('/api/v1/tasks/cancel', { filter })).body).toMatchObject({ changed: 1 })
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

test('the system tells its database, what is kept, its backups, and what ever happened', async () => {
  const { gleaner, get, post } = await openServer()
  await post('/api/v1/tasks', { name: 'plain' })
  await gleaner.work().drained()
  await gleaner.metrics()
  const copy = `${tempDatabase()}.backup`
  const { bytes } = await gleaner.maintenance.backup(copy)
  await expect(gleaner.maintenance.backup(copy)).rejects.toThrow('exists')
  const system = await get('/api/v1/system')
  expect(system).toMatchObject({
    database: { kind: 'sqlite', durability: 'full' },
    retention: { completed: { ageMs: 7 * 24 * 60 * MINUTE, count: null } },
    totals: { enqueued: 1, completed: 1 },
    supervisors: [],
    backups: [
      { path: copy, bytes: null, error: expect.stringContaining('exists') },
      { path: copy, bytes, error: null, startedAt: expect.any(Number), tookMs: expect.any(Number) },
    ],
  })
  expect(system.database.migrations.at(-1).version).toBeGreaterThan(10)
  expect(system.database.bytes).toBeGreaterThan(4_096)
})

test('the history has every step, and how many tasks were unfinished at its end', () => {
  const minute = 1_000 * 60 * MINUTE
  const now = minute + 30_000
  const measured = { queue: 'q', name: 'n', failed: 0, retried: 0, durations: new Map() }
  const readings = {
    now,
    present: [
      { queue: 'q', name: 'n', scheduled: 1, queued: 2, running: 0, suspended: 0, waitingSince: null },
    ],
    minutes: [
      { ...measured, minute, enqueued: 0, completed: 4 },
      { ...measured, minute: minute - 3 * MINUTE, enqueued: 9, completed: 1 },
      { ...measured, queue: ':rows', minute, enqueued: 0, completed: 9 },
    ],
  }
  const level = (at: number, left: number) => ({ at, left, done: 0 })
  // One of the eight was cancelled a minute later.
  const levels = [level(minute - 3 * MINUTE + 5_000, 8), level(minute - 2 * MINUTE + 5_000, 7)]
  const { steps, stepMs } = historyOf(readings, levels, 'hour')
  expect([steps.length, stepMs, steps.at(-1)!.at]).toEqual([60, MINUTE, minute])
  expect(steps.slice(-5).map(({ depth, completed, rowsDone }) => [depth, completed, rowsDone])).toEqual([
    [0, 0, 0],
    [8, 1, 0],
    [7, 0, 0],
    [7, 0, 0],
    [3, 4, 9],
  ])
  const older = [level(minute - 9 * 60 * MINUTE, 2), ...levels]
  expect(
    historyOf(readings, older, 'hour')
      .steps.map(({ depth }) => depth)
      .slice(0, 57),
  ).toEqual([...Array(56).fill(2), 8])
  expect(historyOf({ ...readings, minutes: [] }, [], 'hour').steps.map(({ depth }) => depth)).toEqual([
    ...Array(59).fill(0),
    3,
  ])
})

test('what came in of rows follows from what was left and what was done, at the time when it was seen', () => {
  const minute = 1_000 * 60 * MINUTE
  const levels = [
    { at: minute - 40 * MINUTE, left: 10, done: 100 },
    // Nothing changed for half an hour: then a hundred came, and twenty were done.
    { at: minute - 10 * MINUTE + 30_000, left: 90, done: 120 },
    // Somebody took five out of the table himself.
    { at: minute - 9 * MINUTE + 30_000, left: 85, done: 120 },
    { at: minute + 10_000, left: 0, done: 205 },
  ]
  const { steps } = rowHistoryOf(levels, 'hour', minute + 20_000)
  const of = (minutesAgo: number) => {
    const { left, came, done } = steps.at(-1 - minutesAgo)!
    return [left, came, done]
  }
  expect(of(41)).toEqual([null, null, null])
  expect(of(20)).toEqual([10, 0, 0])
  expect([of(11), of(10)]).toEqual([
    [10, 50, 10],
    [90, 50, 10],
  ])
  expect([of(9), of(8)]).toEqual([
    [85, 0, 0],
    [85, 0, 0],
  ])
  expect([of(1), of(0)]).toEqual([
    [85, 0, 71],
    [0, 0, 14],
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

test('before what was seen, and of workers of others, a lane tells what was written down', async () => {
  const note = (component: string, status: Health, at: number) => ({
    component,
    status,
    changedFrom: null,
    item: null,
    at,
  })
  const S = 1_000
  const notes = [
    note('worker:ml:0', 'healthy', 0),
    // For an hour nobody watched it.
    note('worker:ml:0', 'healthy', 3600 * S),
    note('worker:ml:0', 'healthy', 3630 * S),
    note('worker:ml:0', 'unhealthy', 3640 * S),
    note('worker:mail:0', 'healthy', 3650 * S),
    note('worker:ml:0', 'unhealthy', 3670 * S),
    note('worker:ml:0', 'healthy', 3700 * S),
  ]
  const lanes = withRecorded(seenSince(3660 * S).lanes, recordedOf(notes.toReversed()))
  expect(lanes.map(({ worker, recorded, stretches }) => [worker, recorded, stretches.length])).toEqual([
    [
      'worker:ml:0',
      [
        { from: 0, to: 0, health: 'healthy' },
        { from: 3600 * S, to: 3640 * S, health: 'healthy' },
        { from: 3640 * S, to: 3660 * S, health: 'unhealthy' },
      ],
      1,
    ],
    ['worker:mail:0', [{ from: 3650 * S, to: 3650 * S, health: 'healthy' }], 0],
  ])
  const { gleaner, get } = await openServer({ timeline: seenSince(Date.now()) })
  await insideOf(gleaner).store.sessions.noteHealth(
    [5, 3, 1].map((hours) => ({
      component: 'worker:ml:0',
      status: 'healthy',
      changedFrom: null,
      item: null,
      agoMs: hours * 60 * MINUTE,
    })),
  )
  const { items } = await get('/api/v1/workers/timeline')
  expect(items[0].recorded).toHaveLength(2)
})

function seenSince(at: number): Timeline {
  const timeline = new Timeline()
  const record = { id: 'worker:ml:0', status: 'running', health: 'healthy', current: [], lastExit: null }
  timeline.saw({ ...record, phase: 'idle', pid: 7 } as unknown as WorkerRecord, at)
  return timeline
}

test('a lane reaches back to its beginning, with the fewer details the longer ago', () => {
  const timeline = new Timeline()
  const record = { id: 'worker:ml:0', status: 'running', health: 'healthy', current: [], lastExit: null }
  const HOUR = 60 * MINUTE
  // Idle for an hour, then one second of work in ten, for two days.
  timeline.saw({ ...record, phase: 'idle' } as unknown as WorkerRecord, 0)
  for (let at = HOUR; at < 48 * HOUR; at += 10_000) {
    timeline.saw({ ...record, phase: 'processing' } as unknown as WorkerRecord, at)
    timeline.saw({ ...record, phase: 'idle' } as unknown as WorkerRecord, at + 1_000)
  }
  const { stretches } = timeline.lanes[0]!
  expect(stretches).toHaveLength(300)
  expect(stretches[0]).toMatchObject({ from: 0, phase: 'idle' })
  expect(stretches.slice(-100).map(({ phase }) => phase)).toEqual(
    Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 'processing' : 'idle')),
  )
  const times = stretches.map(({ from }) => from)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})
