import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { type Estate, test as onFiles, pool } from './estate.ts'
import { blocking, quick, untilThere } from './tasks.ts'

/** The same estate, in a schema of its own on the run's server. */
const test = onFiles.extend<{ estate: Estate }>({
  estate: async ({ estate }, use) => {
    const schema = `t_${randomUUID().replaceAll('-', '')}`
    estate.database = `${inject('postgresUrl')}?schema=${schema}`
    await use(estate)
    await estate.clear()
    const client = new pg.Client(inject('postgresUrl'))
    await client.connect()
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  },
})

test('on PostgreSQL, too: what a killed worker held runs again in another one at once', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
  await estate.worker(supervisor, { phase: 'idle' }, 'worker:main:0')
  await estate.worker(supervisor, { phase: 'idle' }, 'worker:main:1')
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const first = await estate.hears('running')
  const killedAt = Date.now()
  process.kill(first.pid, 'SIGKILL')
  const again = await estate.hears('running', ({ attempt }) => attempt === 2)
  // Only bounds it, on a machine that may be busy: rerun.test.ts measures. A lease that ran out would charge no crash.
  expect(again.at - killedAt).toBeLessThan(10_000)
  estate.touch('go')
  expect(await handle.result()).toBe(again.pid)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 2, crashes: 1 })
})

test('on PostgreSQL, too: a handler that blocks beyond its time-out is killed, and has timed out', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  await estate.supervise({ retryAfterMs: () => 60_000 })
  const handle = await gleaner.enqueue(blocking, { ms: 600_000 }, { timeout: '500ms' })
  await estate.logged('a handler ran past its time-out')
  await (await gleaner.enqueue(quick, 1)).result()
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({
    attempts: 1,
    crashes: 0,
    error: { kind: 'timeout' },
  })
})

test('on PostgreSQL, too: a supervisor that was killed leaves the leadership to the next, with its commands and counts', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const first = estate.supervisor()
  await first.hears('worker', ({ status }) => status === 'running')
  await gleaner.workers.pause()
  await first.hears('worker', ({ status }) => status === 'paused')
  await first.kill()
  const second = await estate.supervise()
  await estate.worker(second, { status: 'paused', health: 'healthy' })
  await expect(estate.supervise()).rejects.toMatchObject({ code: 'SUPERVISOR_RUNS' })
  await gleaner.workers.resume()
  expect(await (await gleaner.enqueue(quick, 7)).result()).toBe(7)
})
