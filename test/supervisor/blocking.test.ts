import { expect } from 'vitest'
import { pool, TORTURE, test } from './estate.ts'
import { blocking, untilThere } from './tasks.ts'

/** Longer than stale (1.5 s), and than the lease (3 s). */
const BLOCKED_MS = TORTURE ? 60_000 : 4_000

test('a handler that blocks the event loop is seen: frames go on, the worker is healthy, its claim is kept', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const handle = await gleaner.enqueue(blocking, { ms: BLOCKED_MS })
  const { pid } = await estate.hears('running')
  const healths = new Set<string>()
  const blocked = await estate.worker(supervisor, (worker) => {
    healths.add(worker.health)
    return (worker.loopLagMs ?? 0) > BLOCKED_MS - 2_000
  })
  expect(blocked).toMatchObject({ status: 'running', phase: 'processing', pid })
  expect(blocked.current).toMatchObject([{ item: `blocking/${handle.id}` }])
  expect(await handle.result()).toBe(pid)
  expect([...healths].filter((health) => health !== 'healthy' && health !== 'pending')).toEqual([])
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1, crashes: 0 })
})

test('a handler that blocks beyond its time-out is killed: it timed out, whatever else was in flight costs nothing', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ concurrency: 2 })], retryAfterMs: () => 60_000 })
  const other = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  await estate.hears('running', ({ name }) => name === 'until-there')
  const blocked = await gleaner.enqueue(blocking, { ms: 600_000 }, { timeout: '500ms' })
  const { pid } = await estate.hears('running', ({ name }) => name === 'blocking')
  const ended = await estate.logged('worker ended', (logged) => logged.pid === pid)
  expect(ended.message).toContain('a handler ran past its time-out')
  // What was in flight beside it runs again, as if nothing had been.
  const again = await estate.hears('running', (said) => said.name === 'until-there' && said.pid !== pid)
  expect(again).toMatchObject({ attempt: 1 })
  estate.touch('go')
  await other.result()
  expect(await gleaner.tasks.get(other.id)).toMatchObject({ attempts: 1, crashes: 0 })
  expect(await gleaner.tasks.get(blocked.id)).toMatchObject({
    status: 'scheduled',
    attempts: 1,
    crashes: 0,
    error: { kind: 'timeout' },
  })
  expect((await estate.worker(supervisor, { status: 'running' })).restarts).toEqual({ recent: 0, total: 0 })
})
