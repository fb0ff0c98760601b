import { describe, expect, onTestFinished } from 'vitest'
import type { Pool } from '../../src/config/types.ts'
import { HealthMonitor } from '../../src/health/index.ts'
import type { Child, Said } from '../journeys/child.ts'
import { quickStart } from '../quick-start/environment.ts'
import { gone, pool, TORTURE } from '../supervisor/estate.ts'
import { untilThere } from '../supervisor/tasks.ts'
import { until } from '../until.ts'
import { CONFIG, type Ground, marks, onDatabase } from './ground.ts'

const ROWS = TORTURE ? 10_000 : 1_000
/** The promise. A test that fails waits longer. */
const GONE_WITHIN_MS = 30_000
const NOTICED_WITHIN_MS = 1_000
const WORKER = 'worker:main:0'
const READERS: Pool[] = [pool({ queues: undefined, discoveries: ['files'], processes: 3, concurrency: 4 })]

/** A child's line of standard output, which its supervisor logs. */
const row = (child: Child): Promise<Said> =>
  child.hears('log', ({ message }) => message.includes('"event":"row"'))

describe.each(['SQLite', 'PostgreSQL'] as const)('on %s', (name) => {
  const test = onDatabase(name)

  test('the parent is killed in the middle of a job: the worker finishes it, claims nothing more and exits', async ({
    ground,
  }) => {
    const gleaner = await ground.gleaner()
    const parent = ground.supervisor()
    const handle = await gleaner.enqueue(untilThere, { file: ground.file('go') })
    const { message } = await parent.hears('log', (said) => said.message.includes('"running"'))
    const { pid } = JSON.parse(message)
    const next = await gleaner.enqueue(untilThere, { file: ground.file('go') })
    await parent.kill()
    // The worker notices within a second, and nothing outside its process shows that it has.
    await new Promise((resolve) => setTimeout(resolve, NOTICED_WITHIN_MS))
    ground.touch('go')
    expect(await handle.result()).toBe(pid)
    await gone(pid)
    expect(await gleaner.tasks.get(next.id)).toMatchObject({ status: 'queued', attempts: 0 })
  })

  test('a worker that runs out of memory again and again is restarted with backoff, then failed, and its monitoring ends', async ({
    ground,
  }) => {
    const supervisor = await ground.supervise({
      config: CONFIG,
      limits: { inWindow: 4 },
      env: { FOUNDING_LEAK: '1', ...quickStart('--max-old-space-size=96') },
    })
    let asked = 0
    const monitor = new HealthMonitor({ interval: 20 })
    onTestFinished(() => monitor.stop())
    monitor.register(
      {
        getStatus(id) {
          asked += 1
          return supervisor.getStatus(id)
        },
      },
      WORKER,
    )
    const failed = await ground.worker(supervisor, { status: 'failed', health: 'failed' })
    expect(failed).toMatchObject({ pid: null, restarts: { recent: 4 } })
    const delays = ground.log.flatMap(({ afterMs }) => (typeof afterMs === 'number' ? [afterMs] : []))
    expect(delays).toEqual([20, 40, 80])
    await until('the monitor knows', () => monitor.status(WORKER) === 'failed')
    const before = asked
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(asked).toBe(before)
  })

  test('three workers on 10 000 rows claim none twice', { timeout: 600_000 }, async ({ ground }) => {
    await ground.rows.fill(ROWS)
    await ground.supervise({ ...ground.options, pools: READERS })
    await until('all are done', async () => (await ground.rows.left()) === 0, 500_000)
    const run = marks(ground)
    expect([run.length, new Set(run).size]).toEqual([ROWS, ROWS])
  })

  test('claims of dead workers, of completed and of ineligible rows are gone within 30 s', async ({
    ground,
  }) => {
    await ground.rows.fill(6, 3)
    const { supervisor, workers } = await working(ground)
    // Three rows are done by then, and three are held: one of them no longer needs work.
    await until('three are done', async () => (await ground.rows.left()) === 3)
    await ground.rows.finish(1)
    const killedAt = Date.now()
    await supervisor.kill()
    for (const pid of workers) process.kill(pid, 'SIGKILL')
    // Somebody who looks after the database: any process with a worker.
    const sweeping = await ground.place.open({
      database: ground.database,
      tasks: [untilThere],
      timings: { lease: '3s', sweep: '200ms', repair: '1s' },
    })
    sweeping.work()
    await until('no claim is left', async () => (await ground.rows.claims()) === 0)
    expect(Date.now() - killedAt).toBeLessThan(GONE_WITHIN_MS)
    expect(await ground.rows.left()).toBe(2)
  })

  test('after a restart of everything every unfinished row is found', async ({ ground }) => {
    await ground.rows.fill(50, 10)
    const { supervisor, workers } = await working(ground)
    await supervisor.kill()
    for (const pid of workers) process.kill(pid, 'SIGKILL')
    await Promise.all(workers.map((pid) => gone(pid)))
    expect(await ground.rows.left()).toBeGreaterThanOrEqual(10)
    ground.touch('go')
    await ground.supervise({ ...ground.options, pools: READERS })
    await until('all are done', async () => (await ground.rows.left()) === 0)
  })
})

/** A supervisor in a process of its own, and the processes of its workers, as soon as one of them runs a row. */
async function working(ground: Ground): Promise<{ supervisor: Child; workers: number[] }> {
  const supervisor = ground.supervisor({ ...ground.options, pools: READERS })
  await row(supervisor)
  const workers = new Set<number>()
  for (const index of [0, 1, 2]) {
    const { pid } = await supervisor.hears(
      'worker',
      (said) => said.id === `worker:main:${index}` && said.pid !== null,
    )
    workers.add(pid)
  }
  return { supervisor, workers: [...workers] }
}
