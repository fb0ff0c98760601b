import { expect } from 'vitest'
import { insideOf } from '../../src/engine/inside.ts'
import { until } from '../until.ts'
import { pool, test } from './estate.ts'
import { poison, quick } from './tasks.ts'

const LIMIT = { limits: { inWindow: 3 } }

test('a worker that crashes at every start is given up; its siblings go on', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({
    ...LIMIT,
    pools: [pool(), pool({ name: 'broken', capabilities: { crash: 'at start' } })],
    env: { GLEANER_CRASH: 'start broken' },
  })
  const failed = await estate.worker(supervisor, { status: 'failed' }, 'worker:broken:0')
  expect(failed).toMatchObject({ health: 'failed', pid: null, restarts: { recent: 3, total: 3 } })
  expect(failed.lastExit).toMatchObject({
    code: 7,
    reason: expect.stringContaining('given up: it crashed 3 times'),
  })
  expect(supervisor.getStatus('worker:broken:0')).toBe('failed')
  await (await gleaner.enqueue(quick, 1)).result()
  expect(supervisor.workers()).toMatchObject([{ health: 'healthy' }, { health: 'failed' }])
})

test('a worker that crashes with nothing in flight, shortly after each healthy frame, is given up', async ({
  estate,
}) => {
  const supervisor = await estate.supervise({ ...LIMIT, env: { GLEANER_CRASH: 'ready main' } })
  const failed = await estate.worker(supervisor, { status: 'failed' })
  expect(failed.restarts).toEqual({ recent: 3, total: 3 })
  expect(estate.log.filter(({ message }) => message === 'worker ready')).toHaveLength(3)
})

test('counts and decisions outlive the supervisor; a resume clears them', async ({ estate }) => {
  const options = { ...LIMIT, env: { GLEANER_CRASH: 'start main' } }
  const first = await estate.supervise(options)
  await estate.worker(first, { status: 'failed' })
  await first.stop()
  const second = await estate.supervise({ ...LIMIT })
  expect(second.workers()).toMatchObject([{ status: 'failed', pid: null, restarts: { total: 3 } }])
  second.resume()
  const worker = await estate.worker(second, { status: 'running' })
  expect(worker).toMatchObject({ health: 'healthy', restarts: { recent: 0, total: 0 } })
})

test('an item that kills its worker is put aside after three times, and the worker is kept', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const handle = await gleaner.enqueue(poison)
  await expect(handle.result({ timeout: '20s' })).rejects.toMatchObject({ kind: 'crash' })
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ crashes: 3, attempts: 3 })
  await (await gleaner.enqueue(quick, 1)).result()
  expect((await estate.worker(supervisor, { status: 'running' })).restarts).toEqual({ recent: 0, total: 0 })
  const { store } = insideOf(gleaner)
  const ofPoison = async () => (await store.admin.readTotals()).find(({ name }) => name === poison.name)
  await until('it is counted as failed', async () => (await ofPoison())?.failed === 1)
  expect((await ofPoison())!.incidents).toEqual(new Map([['crash', 1]]))
})

test('a worker that crashes on every item is given up, and no item is charged', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const handles = await gleaner.enqueueMany(quick, [1, 2, 3, 4, 5, 6])
  const supervisor = await estate.supervise({ env: { GLEANER_CRASH: 'item main' } })
  const failed = await estate.worker(supervisor, { status: 'failed' })
  expect(failed.restarts.recent).toBe(5)
  for (const { id } of handles)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'queued', crashes: 0, attempts: 0 })
})

test('a wrong configuration is given up at once, and says what is wrong', async ({ estate }) => {
  const supervisor = await estate.supervise({ config: '/no/such/config.ts' })
  const failed = await estate.worker(supervisor, { status: 'failed' })
  expect(failed).toMatchObject({ restarts: { total: 0 }, lastExit: { code: 10 } })
  await estate.logged('there is no config')
})

test('a database that cannot be reached makes it wait, and counts for nothing', async ({ estate }) => {
  const supervisor = await estate.supervise({
    ...LIMIT,
    env: { GLEANER_DATABASE: 'sqlite:/no/such/folder/app.db' },
  })
  await estate.until('it has tried often', () =>
    estate.log.filter(({ code }) => code === 11).length >= 5 ? true : undefined,
  )
  expect(supervisor.workers()[0]).toMatchObject({ health: expect.not.stringContaining('failed') })
  expect(supervisor.workers()[0]!.restarts).toEqual({ recent: 0, total: 0 })
})

test('stopping during a backoff starts nothing any more', async ({ estate }) => {
  const supervisor = await estate.supervise({
    timings: { backoff: '1s', backoffMax: '1s' },
    env: { GLEANER_CRASH: 'start main' },
  })
  await estate.worker(supervisor, { status: 'backing-off' })
  const stoppedMs = performance.now()
  await supervisor.stop()
  await until('the backoff is over', () => performance.now() - stoppedMs > 1_500)
  expect(supervisor.workers()).toMatchObject([{ status: 'stopped', pid: null }])
  expect(estate.log.filter(({ message }) => message === 'worker started')).toHaveLength(1)
})
