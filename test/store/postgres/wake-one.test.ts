import { expect } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner } from '../../../src/index.ts'
import type { NewTask } from '../../../src/store/ports/new-task.ts'
import { type Place, testMigrated as test } from './place.ts'

const NEW_TASK: NewTask = {
  ...{ name: 'greet', queue: 'default', requires: null, priority: 0, input: null, key: null },
  ...{ keyScope: 'active', whenHeld: null, maxAttempts: 1, overrides: null, runAfter: null },
}

/** No worker would look by itself as long as these tests last. */
const ASLEEP = { idleMin: '5m', idleMax: '5m', sweep: '50ms' } as const
const SOON = { timeout: '30s' } as const

const greet = defineTask({ name: 'greet', input: z.string(), run: (name) => `hello ${name}` })

async function idleWorkers(place: Place, count: number): Promise<Gleaner[]> {
  const engines = await Promise.all(
    Array.from({ length: count }, () => place.open({ tasks: [greet], timings: ASLEEP })),
  )
  await Promise.all(engines.map((engine) => engine.work().drained()))
  return engines
}

test('workers of several processes get all tasks, however they are told of them', async ({ place }) => {
  await idleWorkers(place, 4)
  const producer = await place.open({ tasks: [greet] })
  for (let n = 0; n < 20; n++) {
    expect(await (await producer.enqueue(greet, 'you')).result(SOON)).toBe('hello you')
  }
  const handles = await producer.enqueueMany(greet, Array(200).fill('all'))
  await Promise.all(handles.map((handle) => handle.result(SOON)))
})

test('a task reaches a free worker when all others are busy or serve other names', async ({ place }) => {
  const released = Promise.withResolvers<void>()
  const begun: string[] = []
  const hold = defineTask({
    name: 'hold',
    queue: 'holding',
    input: z.string(),
    run: async (name) => {
      begun.push(name)
      await released.promise
    },
  })
  const busy = await Promise.all(
    Array.from({ length: 3 }, () => place.open({ tasks: [greet, hold], timings: ASLEEP })),
  )
  for (const engine of busy) engine.work({ concurrency: 1 })
  const held = await busy[0]!.enqueueMany(hold, ['a', 'b', 'c'])
  await place.until('all of them are busy', () => begun.length === 3)
  const other = await place.open({ tasks: [hold], timings: ASLEEP })
  await other.work({ queues: ['holding'] }).drained()
  await idleWorkers(place, 1)

  const producer = await place.open({ tasks: [greet] })
  for (let n = 0; n < 10; n++) {
    expect(await (await producer.enqueue(greet, 'you')).result(SOON)).toBe('hello you')
  }
  released.resolve()
  await Promise.all(held.map((handle) => handle.result(SOON)))
})

test('a worker that is gone without a word keeps no task from the others', async ({ place }) => {
  await idleWorkers(place, 2)
  const store = await place.store({ notify: false })
  // Sessions that nobody answers for: notifications of their turns are heard by nobody.
  for (let n = 0; n < 10; n++) {
    await store.sessions.openSession({
      worker: `gone:${n}`,
      process: { host: 'far-away', boot: 'b', pid: n + 1, startTime: 's' },
      capabilities: {},
      queues: ['default'],
      names: ['greet'],
      discoveries: [],
    })
  }
  await place.until(
    'the others see these sessions',
    async () => (await store.sessions.liveSessions()).length === 12,
  )
  const producer = await place.open({ tasks: [greet] })
  const handles = []
  for (let n = 0; n < 10; n++) handles.push(await producer.enqueue(greet, 'you'))
  await Promise.all(handles.map((handle) => handle.result(SOON)))
})

test('one task is told to one worker that is free, and several to several', async ({ place }) => {
  const told: string[] = []
  const stores = await Promise.all(Array.from({ length: 4 }, () => place.store()))
  for (const [n, store] of stores.entries()) {
    await store.sessions.openSession({
      worker: `w:${n}`,
      process: { host: 'here', boot: 'b', pid: n + 1, startTime: 's' },
      capabilities: {},
      ...{ queues: ['default'], names: ['greet'], discoveries: [] },
    })
    store.onChange((change) => {
      if (change.kind !== 'elsewhere' || change.task?.turn !== 'ours') return false
      told.push(`w:${n}`)
      // The first one has no free hands.
      return n > 0
    }, 'signals')
  }
  for (const store of stores) await store.sessions.liveSessions()
  const producer = await place.store()
  const free = () => told.filter((worker) => worker !== 'w:0').length
  let tasks = 0
  while (tasks < 12 || !told.includes('w:0')) {
    await producer.tasks.enqueue([NEW_TASK])
    tasks += 1
    await place.until('a free worker is told', () => free() >= tasks)
  }
  expect(free()).toBe(tasks)
  told.splice(0)
  await producer.tasks.enqueue([NEW_TASK, NEW_TASK, NEW_TASK, NEW_TASK])
  await place.until('all are told', () => new Set(told).size === 4)
})

test('ends are notified only while a process waits for some', async ({ place }) => {
  const ear = await place.client()
  const heard: string[] = []
  ear.on('notification', ({ payload }) => heard.push(...payload!.split(' ').slice(1)))
  await ear.query(`LISTEN "${place.schema}"`)
  const [worker] = await idleWorkers(place, 1)
  const producer = await place.open({ tasks: [greet] })
  for (let n = 0; n < 5; n++) await producer.enqueue(greet, 'you')
  await place.until('all are done', async () => (await producer.tasks.counts()).completed === 5)
  await worker!.close()
  await ear.query('SELECT 1')
  expect(heard).not.toContain('ended')

  await idleWorkers(place, 1)
  await (await producer.enqueue(greet, 'you')).result(SOON)
  await (await producer.enqueue(greet, 'you')).result(SOON)
  await place.until('an end was notified', () => heard.includes('ended'))
})
