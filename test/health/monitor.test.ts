import { describe, expect, test } from 'vitest'
import { HealthHistory, type Note } from '../../src/health/history.ts'
import { type Change, HealthMonitor, type Owner, type Status } from '../../src/health/monitor.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

/** Not a worker, and not a process: a cache that knows how full it is. */
class Cache implements Owner {
  fill = 0
  asked = 0
  status(): Status {
    this.asked += 1
    if (this.fill > 1) return 'failed'
    return this.fill > 0.9 ? 'unhealthy' : 'healthy'
  }
}

function monitored() {
  const clock = new ManualClock()
  const changes: Change[] = []
  const problems: string[] = []
  const monitor = new HealthMonitor(clock, {
    onChange: (change) => changes.push(change),
    onProblem: (message) => problems.push(message),
  })
  return { clock, monitor, changes, problems }
}

describe('the health monitor', () => {
  test('tells of each change of a component that is not a worker, with its time', () => {
    const { clock, monitor, changes } = monitored()
    const cache = new Cache()
    const begun = clock.now()
    monitor.register('cache:thumbnails', cache)
    clock.advance(2_500)
    cache.fill = 0.95
    clock.advance(1_000)
    cache.fill = 0.5
    clock.advance(1_000)
    expect(changes).toEqual([
      { id: 'cache:thumbnails', status: 'healthy', before: null, since: begun },
      { id: 'cache:thumbnails', status: 'unhealthy', before: 'healthy', since: begun + 3_000 },
      { id: 'cache:thumbnails', status: 'healthy', before: 'unhealthy', since: begun + 4_000 },
    ])
    expect(monitor.get('cache:thumbnails')).toEqual({
      id: 'cache:thumbnails',
      status: 'healthy',
      since: begun + 4_000,
    })
  })

  test('does not ask any more after failed, until it is registered again', () => {
    const { clock, monitor, changes } = monitored()
    const cache = new Cache()
    monitor.register('cache', cache)
    cache.fill = 2
    clock.advance(1_000)
    const { asked } = cache
    cache.fill = 0
    clock.advance(60_000)
    expect([cache.asked, monitor.get('cache')?.status]).toEqual([asked, 'failed'])
    monitor.register('cache', cache)
    expect(monitor.get('cache')?.status).toBe('healthy')
    expect(changes.map(({ status }) => status)).toEqual(['healthy', 'failed', 'healthy'])
    clock.advance(1_000)
    expect(cache.asked).toBe(asked + 2)
  })

  test('takes who throws, or answers what is no status, for unhealthy, and goes on with the others', () => {
    const { clock, monitor, problems } = monitored()
    const bad: Owner = {
      status: () => {
        throw new Error('no idea')
      },
    }
    const wrong = { status: () => Promise.resolve('healthy') } as unknown as Owner
    monitor.register('bad', bad)
    monitor.register('wrong', wrong)
    monitor.register('good', new Cache())
    clock.advance(1_000)
    expect(monitor.all().map(({ id, status }) => [id, status])).toEqual([
      ['bad', 'unhealthy'],
      ['wrong', 'unhealthy'],
      ['good', 'healthy'],
    ])
    expect(problems[0]).toContain('the owner of bad did not return its status')
  })

  test('forgets what is unregistered, also what failed, and not its successor', () => {
    const { clock, monitor } = monitored()
    const cache = new Cache()
    const first = monitor.register('cache', cache)
    const second = monitor.register('cache', cache)
    first()
    expect(monitor.get('cache')).toBeDefined()
    cache.fill = 2
    clock.advance(1_000)
    second()
    expect(monitor.all()).toEqual([])
  })

  test('asks nobody after stop', () => {
    const { clock, monitor } = monitored()
    const cache = new Cache()
    monitor.register('cache', cache)
    monitor.stop()
    const { asked } = cache
    clock.advance(60_000)
    expect(cache.asked).toBe(asked)
  })
})

describe('its history', () => {
  function remembered(write: (notes: readonly Note[]) => Promise<void>) {
    const clock = new ManualClock()
    const monitor = new HealthMonitor(clock, { onChange: (change) => history.changed(change) })
    const history = new HealthHistory(clock, monitor, write)
    return { clock, monitor, history }
  }

  test('has every change, written together with others, and all components every 30 s', async () => {
    const written: (readonly Note[])[] = []
    const { clock, monitor, history } = remembered(async (notes) => void written.push(notes))
    const cache = new Cache()
    monitor.register('a', cache)
    monitor.register('b', new Cache())
    clock.advance(1_000)
    await settled()
    expect(written).toEqual([
      [
        { component: 'a', status: 'healthy', changedFrom: null, agoMs: 1_000 },
        { component: 'b', status: 'healthy', changedFrom: null, agoMs: 1_000 },
      ],
    ])
    cache.fill = 0.95
    clock.advance(1_500)
    await history.stop()
    expect(written[1]).toEqual([{ component: 'a', status: 'unhealthy', changedFrom: 'healthy', agoMs: 500 }])
  })

  test('all components are those that failed as well', async () => {
    const written: Note[] = []
    const { clock, monitor, history } = remembered(async (notes) => void written.push(...notes))
    const cache = new Cache()
    cache.fill = 2
    monitor.register('a', cache)
    clock.advance(1_000)
    await settled()
    clock.advance(29_000)
    await history.stop()
    expect(written.map(({ component, status, agoMs }) => [component, status, agoMs])).toEqual([
      ['a', 'failed', 1_000],
      ['a', 'failed', 0],
    ])
  })

  test('a database that is away costs notes, never memory or the monitoring', async () => {
    let hang = (): void => {}
    const writes: number[] = []
    const { clock, monitor, history } = remembered(async (notes) => {
      writes.push(notes.length)
      if (writes.length === 1) throw new Error('away')
      if (writes.length === 2) await new Promise<void>((resolve) => (hang = resolve))
    })
    const cache = new Cache()
    monitor.register('a', cache)
    for (let i = 0; i < 2_000; i++) {
      cache.fill = i % 2 ? 0 : 0.95
      clock.advance(1_000)
      await settled()
    }
    expect(writes).toHaveLength(2)
    expect(monitor.get('a')?.status).toBe('healthy')
    hang()
    await history.stop()
    expect(writes[2]).toBe(1_000)
    expect(history.forgotten).toBeGreaterThan(900)
  })
})

/** What was written has been answered. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
