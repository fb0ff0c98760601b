import { expect, onTestFinished, test as plain } from 'vitest'
import {
  type HealthChange,
  HealthMonitor,
  type HealthOwner,
  type HealthStatus,
} from '../../src/health/index.ts'
import { openGleaner } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { DATABASES } from '../http/server.ts'
import { TORTURE, test } from '../supervisor/estate.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'

const LOCKED_MS = TORTURE ? 20_000 : 2_000
const DAY_MS = 24 * 60 * 60_000
const WORKER = 'worker:main:0'

test('liveness comes from the pipe alone, and the monitor never reads the database', async ({ estate }) => {
  const supervisor = await estate.supervise()
  const { pid } = await estate.worker(supervisor, { status: 'running', health: 'healthy' })
  const monitor = new HealthMonitor({ interval: 50 })
  onTestFinished(() => monitor.stop())
  const seen: HealthStatus[] = []
  monitor.on('change', ({ status }) => seen.push(status))
  monitor.register(supervisor, WORKER)
  // While nobody can read or write the database, the worker lives, and the monitor sees it.
  const db = estate.place.connect()
  db.exec('BEGIN EXCLUSIVE')
  const lockedAt = Date.now()
  await estate.worker(supervisor, ({ lastFrameAt }) => lastFrameAt! > lockedAt + LOCKED_MS)
  expect([monitor.status(WORKER), seen]).toEqual(['healthy', ['healthy']])
  db.exec('COMMIT')
  // A stopped process keeps its session for a lease. Its pipe is silent, and that decides.
  process.kill(pid!, 'SIGSTOP')
  await until('it is unhealthy', () => monitor.status(WORKER) === 'unhealthy')
  process.kill(pid!, 'SIGCONT')
  await until('it is healthy again', () => monitor.status(WORKER) === 'healthy')
})

plain(
  'the monitor holds ids, interprets no phase, reason or metadata, and starts or stops nothing',
  async () => {
    const touched = new Set<PropertyKey>()
    const own = {
      getStatus: (id: string) =>
        id === 'rich' ? { status: 'failed', phase: 'idle', reason: 'none' } : 'healthy',
      start: () => expect.unreachable('the monitor starts nothing'),
      stop: () => expect.unreachable('the monitor stops nothing'),
      pid: process.pid,
      phase: 'backing_off',
    }
    const owner = new Proxy(own, {
      get(target, name, receiver) {
        touched.add(name)
        return Reflect.get(target, name, receiver)
      },
    }) as unknown as HealthOwner
    const clock = new ManualClock()
    const monitor = new HealthMonitor({ interval: '1s' }, clock)
    monitor.register(owner, ['plain', 'rich'])
    clock.advance(10_000)
    const since = expect.any(Number)
    // What is no status is not looked into.
    expect(monitor.snapshot()).toEqual([
      { id: 'plain', status: 'healthy', since },
      { id: 'rich', status: 'unhealthy', since },
    ])
    await monitor.stop()
    expect([...touched]).toEqual(['getStatus'])
  },
)

plain.each(Object.keys(DATABASES) as (keyof typeof DATABASES)[])(
  'it polls the owner and records one of four statuses (%s)',
  async (name) => {
    const gleaner = await openGleaner({ database: `sqlite:${tempDatabase()}`, ...DATABASES[name]() })
    onTestFinished(() => gleaner.close())
    const statuses: HealthStatus[] = ['pending', 'healthy', 'unhealthy', 'failed']
    let polls = 0
    const monitor = new HealthMonitor({ interval: 20, history: gleaner })
    monitor.register({ getStatus: () => statuses[Math.min(polls++, 3)]! }, 'component')
    await until('it failed', () => monitor.status('component') === 'failed')
    await monitor.stop()
    const { items } = await gleaner.health.history({ component: 'component' })
    expect(items.map(({ changedFrom, status }) => [changedFrom, status]).reverse()).toEqual([
      [null, 'pending'],
      ['pending', 'healthy'],
      ['healthy', 'unhealthy'],
      ['unhealthy', 'failed'],
    ])
    expect(polls).toBe(4)
  },
)

plain('pending is never declared dead, unhealthy is polled on, failed ends the polling', () => {
  const clock = new ManualClock()
  const monitor = new HealthMonitor({ interval: '1m' }, clock)
  let status: HealthStatus = 'pending'
  let polls = 0
  monitor.register(
    {
      getStatus() {
        polls += 1
        return status
      },
    },
    'component',
  )
  const during = (ms: number): number => {
    const before = polls
    clock.advance(ms)
    return polls - before
  }
  expect([during(DAY_MS), monitor.status('component')]).toEqual([24 * 60, 'pending'])
  status = 'unhealthy'
  expect([during(DAY_MS), monitor.status('component')]).toEqual([24 * 60, 'unhealthy'])
  status = 'failed'
  expect([during(60_000), monitor.status('component')]).toEqual([1, 'failed'])
  status = 'healthy'
  expect([during(DAY_MS), monitor.status('component')]).toEqual([0, 'failed'])
})

plain('history writes never block and their failure changes nothing', async () => {
  const closed = await openTemp({})
  await closed.close()
  const hanging = { health: { record: () => new Promise<void>(() => {}), forget: async () => {} } }
  const throwing = {
    health: {
      record: () => {
        throw new Error('a bug')
      },
      forget: async () => {},
    },
  }
  const seenWith = async (history?: typeof hanging | typeof closed): Promise<HealthChange[]> => {
    const clock = new ManualClock()
    const changes: HealthChange[] = []
    const monitor = new HealthMonitor(
      history === undefined ? { interval: '1s' } : { interval: '1s', history },
      clock,
    )
    monitor.on('change', (change) => changes.push(change))
    let polls = 0
    monitor.register({ getStatus: () => (++polls % 3 === 0 ? 'unhealthy' : 'healthy') }, 'component')
    for (let second = 0; second < 120; second++) {
      clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const stopped = monitor.stop()
    clock.advance(2_000)
    await stopped
    return changes
  }
  const expected = await seenWith()
  expect(expected.length).toBeGreaterThan(70)
  for (const history of [closed, hanging, throwing as unknown as typeof hanging])
    expect(await seenWith(history)).toEqual(expected)
})
