import { expect } from 'vitest'
import { defineResource, defineTask } from '../../src/index.ts'
import { until } from '../until.ts'
import { deferred } from './deferred.ts'
import { test } from './place.ts'

const MB = 2 ** 20

test('the memory of what is unloaded is freed, and it can be loaded again', async ({ place }) => {
  const child = place.start('heavy.ts')
  await child.hears('ready')
  let times = 0
  const weigh = () => {
    times += 1
    const time = times
    child.tell('weigh', { time })
    return child.hears('weighed', (said) => said.time === time)
  }
  const { rss: before } = await weigh()
  for (const life of [1, 2]) {
    child.tell('enqueue')
    const { rss: loaded, byte } = await child.hears('ran', ({ loads }) => loads === life)
    expect(byte).toBe(life)
    expect(loaded - before).toBeGreaterThan(180 * MB)
    await child.hears('unloading', ({ loads }) => loads === life)
    // The collector takes its time; a reference that was kept would keep it for ever.
    await expect.poll(async () => (await weigh()).rss - before, { timeout: 10_000 }).toBeLessThan(60 * MB)
    expect(await weigh()).toMatchObject({ state: 'unloaded', phase: 'idle' })
  }
})

test('drained waits for a probe that takes its time', async ({ place }) => {
  const asked = deferred<void>()
  const answer = deferred<boolean>()
  const slow = defineResource({
    name: 'slow',
    probe: () => {
      asked.resolve()
      return answer.promise
    },
    load: () => 'loaded',
  })
  const task = defineTask({ name: 'task', uses: { slow }, run: (_, ctx) => ctx.use.slow })
  const gleaner = await place.open({ tasks: [task] })
  const handle = await gleaner.enqueue(task)
  const worker = gleaner.work()
  const told: string[] = []
  const drained = worker.drained().then(() => told.push('drained'))
  await asked.promise
  expect(worker.snapshot().phase).toBe('initializing')
  const looks = () => worker.snapshot().counters.discovery_attempts
  for (let n = looks(); n < 3; n = looks()) {
    const again = worker.drained().then(() => told.push('drained'))
    await until('it looked once more', () => looks() > n)
    void again
  }
  told.push('answered')
  answer.resolve(true)
  await drained
  expect(told[0]).toBe('answered')
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'completed', result: 'loaded' })
})

test('engines of one process share a resource; the last one to close unloads it', async ({ place }) => {
  const calls: string[] = []
  const shared = defineResource({
    name: 'shared',
    load: async () => {
      calls.push('load')
      return {}
    },
    unload: () => void calls.push('unload'),
  })
  const task = defineTask({ name: 'task', uses: { shared }, run: () => {} })
  const engines = await Promise.all(
    ['one.db', 'two.db'].map((file) =>
      place.open({ tasks: [task], database: `sqlite:${place.folder}/${file}` }),
    ),
  )
  for (const engine of engines) engine.work()
  const handles = await Promise.all(engines.map((engine) => engine.enqueue(task)))
  await Promise.all(handles.map((handle) => handle.result()))
  await engines[0]!.close()
  expect(calls).toEqual(['load'])
  await engines[1]!.close()
  expect(calls).toEqual(['load', 'unload'])
})

test('a worker whose database is away backs off, and goes on when it is back', async ({ place }) => {
  const task = defineTask({ name: 'task', run: () => {} })
  const gleaner = await place.open({ tasks: [task], timings: { idleMin: '10ms', idleMax: '10ms' } })
  gleaner.on('problem', () => {})
  const worker = gleaner.work()
  await until('it is idle', () => worker.snapshot().phase === 'idle')
  const db = place.connect()
  db.exec('ALTER TABLE gleaner_sessions RENAME TO hidden')
  await until('it backs off', () => worker.snapshot().phase === 'backing_off')
  db.exec('ALTER TABLE hidden RENAME TO gleaner_sessions')
  await until('it is idle again', () => worker.snapshot().phase === 'idle')
})
