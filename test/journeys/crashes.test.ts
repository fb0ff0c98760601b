import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { defineTask, type Gleaner } from '../../src/index.ts'
import type { Child } from './child.ts'
import { type Place, test } from './place.ts'
import { EFFECTS, effect, patient, poison, quick, tasks } from './tasks.ts'

/** Short sweeps; a lease so long that only the proof of death can be what repaired something. */
const timings = { sweep: '50ms', lease: '1h' } as const

/** Starts another worker whenever one is killed by its work, as an init system would. Answers how many died. */
function keepAlive(place: Place, argument: object): { deaths: number; stop(): Promise<void> } {
  let child: Child
  const guard = { deaths: 0, stop: async () => {} }
  let stopping = false
  const start = () => {
    child = place.start('worker.ts', argument)
    void child.ended.then(() => {
      if (stopping) return
      guard.deaths += 1
      start()
    })
  }
  guard.stop = async () => {
    stopping = true
    await child.kill()
  }
  start()
  return guard
}

async function failureOf(gleaner: Gleaner, id: string): Promise<void> {
  await gleaner
    .handle(poison, id)
    .result({ timeout: '40s' })
    .catch((error) => {
      if (error.code !== 'TASK_FAILED') throw error
    })
}

test('a task whose worker is killed runs again in another process, long before the lease is over', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  const second = place.start('worker.ts', { timings })
  await second.hears('ready')
  await first.kill()
  const again = await second.hears('running')
  expect(again).toMatchObject({ id: handle.id, attempt: 2 })
  second.tell('release')
  expect(await handle.result()).toBe(second.pid)
  expect(await gleaner.tasks.attempts(handle.id)).toMatchObject([
    { attempt: 1, outcome: 'crash', worker: expect.stringContaining(String(first.pid)) },
    { attempt: 2, outcome: 'completed', worker: expect.stringContaining(String(second.pid)) },
  ])
})

test('the start of a worker repairs what the one before it left behind', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  await first.kill()
  // A sweep an hour from now would be too late: the first one is made at once.
  const second = place.start('worker.ts', { timings: { sweep: '1h', lease: '1h' } })
  await second.hears('running')
  second.tell('release')
  expect(await handle.result()).toBe(second.pid)
})

test('a process that has the pid of a dead worker does not keep its work', async ({ place }) => {
  const gleaner = await place.open({ tasks, timings })
  const handle = await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  await first.kill()
  // The pid is in use again, as it would be after some days: by us.
  const db = place.connect()
  db.pragma('busy_timeout = 5000')
  db.prepare('UPDATE gleaner_sessions SET pid = ? WHERE ended_at IS NULL').run(process.pid)
  const second = place.start('worker.ts', { timings })
  expect(await second.hears('running')).toMatchObject({ id: handle.id, attempt: 2 })
})

test('a worker that nobody has buried yet is dead all the same', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  // Its parent never asks how it ended, so that it stays a zombie: as in a container without an init.
  const first = place.start('worker.ts', { timings }, {}, ['sh', '-c', '"$@" & exec sleep 600', 'sh'])
  const { pid } = await first.hears('running')
  process.kill(pid, 'SIGKILL')
  const second = place.start('worker.ts', { timings })
  expect(await second.hears('running')).toMatchObject({ id: handle.id, attempt: 2 })
  expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ')
})

test('a worker that lives is not taken for dead', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  const second = place.start('worker.ts', { timings: { sweep: '1ms', lease: '1h' } })
  // Something ended after it: the other one's sweeper has had hundreds of looks at the first.
  await gleaner.enqueueMany(
    quick,
    Array.from({ length: 500 }, (_, n) => n),
  )
  const last = await gleaner.enqueue(quick, 500, { priority: 1000 })
  await last.result()
  expect(second.all('completed').length).toBeGreaterThan(0)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'running', attempts: 1 })
  first.tell('release')
  expect(await handle.result()).toBe(first.pid)
})

test('an item that kills its worker three times ends as a crash, and the others complete', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const bad = await gleaner.enqueue(poison)
  const good = await Promise.all(Array.from({ length: 20 }, () => gleaner.enqueue(effect)))
  const guard = keepAlive(place, { timings, concurrency: 1 })
  await failureOf(gleaner, bad.id)
  await Promise.all(good.map((handle) => handle.result()))
  await guard.stop()
  expect(await gleaner.tasks.get(bad.id)).toMatchObject({
    status: 'failed',
    crashes: 3,
    error: { kind: 'crash', message: expect.stringContaining('3 of 3') },
  })
  expect(guard.deaths).toBe(3)
  expect((await gleaner.tasks.attempts(bad.id)).map(({ outcome }) => outcome)).toEqual([
    'crash',
    'crash',
    'crash',
  ])
})

test('whoever ran beside the item that killed the worker is not charged for it', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const good = await Promise.all(
    Array.from({ length: 30 }, (_, n) => gleaner.enqueue(effect, undefined, { priority: n < 15 ? 1 : 200 })),
  )
  const bad = await gleaner.enqueue(poison)
  const guard = keepAlive(place, { timings, concurrency: 8 })
  await failureOf(gleaner, bad.id)
  await Promise.all(good.map((handle) => handle.result()))
  await guard.stop()
  expect(await gleaner.tasks.get(bad.id)).toMatchObject({ status: 'failed', error: { kind: 'crash' } })
  // Once with others, when all were suspects; then alone.
  expect(guard.deaths).toBeLessThanOrEqual(4)
  for (const { id } of good) {
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', crashes: 0, attempts: 1 })
  }
  expect(place.connect().prepare('SELECT count(*) FROM effects').pluck().get()).toBe(good.length)
})

test('two items that kill their workers end as crashes, beside those that do not', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const bad = await gleaner.enqueueMany(poison, [undefined, undefined])
  const good = await gleaner.enqueueMany(
    effect,
    Array.from({ length: 10 }, () => undefined),
  )
  const guard = keepAlive(place, { timings, concurrency: 8 })
  await Promise.all(bad.map(({ id }) => failureOf(gleaner, id)))
  await Promise.all(good.map((handle) => handle.result()))
  await guard.stop()
  for (const { id } of bad) {
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'failed', error: { kind: 'crash' } })
  }
  for (const { id } of good) expect(await gleaner.tasks.get(id)).toMatchObject({ crashes: 0 })
})

test('a quarantined task that is retried by hand runs again, alone', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(poison)
  const guard = keepAlive(place, { timings, concurrency: 4 })
  await failureOf(gleaner, handle.id)
  await guard.stop()
  await gleaner.tasks.retry(handle.id)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0 })
  const beside = await gleaner.enqueue(patient, undefined, { priority: 1 })
  const last = place.start('worker.ts', { timings, concurrency: 4 })
  // It goes first although the other one has priority, and takes nobody with it.
  expect(await last.hears('running')).toMatchObject({ id: handle.id })
  await last.ended
  expect(await gleaner.tasks.get(beside.id)).toMatchObject({ status: 'queued', attempts: 0 })
})

test('whoever runs in another worker of the process that died is not charged, either', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const beside = await gleaner.enqueue(patient)
  const child = place.start('worker.ts', { timings, concurrency: [1, 1] })
  await child.hears('running')
  await gleaner.enqueue(poison)
  await child.ended
  // Somebody who runs nothing of it sweeps.
  const sweeper = place.start('worker.ts', { timings, queues: ['elsewhere'] })
  await sweeper.hears('ready')
  await expect
    .poll(async () => (await gleaner.tasks.get(beside.id))!.status, { timeout: 20_000 })
    .toBe('queued')
  expect(await gleaner.tasks.get(beside.id)).toMatchObject({ crashes: 0, attempts: 0 })
})

test('a suspect gets its turn while another worker of the process has more than enough to do', async ({
  place,
}) => {
  let going = true
  const suspect = defineTask({ name: 'suspect', queue: 'few', run: () => 'done' })
  const endless = defineTask({
    name: 'endless',
    queue: 'many',
    async run(_, ctx) {
      if (going) await ctx.enqueue(endless)
    },
  })
  const gleaner = await place.open({ tasks: [suspect, endless] })
  const handles = await gleaner.enqueueMany(suspect, [undefined, undefined, undefined])
  place.connect().exec(`UPDATE gleaner_tasks SET suspect = 1`)
  await gleaner.enqueueMany(endless, Array(5).fill(undefined))
  const busy = gleaner.work({ queues: ['many'], concurrency: 5 })
  await new Promise<void>((resolve) => gleaner.on('completed', () => resolve()))
  const other = gleaner.work({ queues: ['few'] })
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['done', 'done', 'done'])
  going = false
  await Promise.all([busy.drained(), other.drained()])
})
