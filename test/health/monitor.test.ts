import { describe, expect, test } from 'vitest'
import type { HealthNote, HistoryTarget } from '../../src/health/history.ts'
import {
  type HealthChange,
  HealthMonitor,
  type HealthMonitorOptions,
  type HealthOwner,
  type HealthStatus,
} from '../../src/health/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

/** Not a worker, and not a process: a cache that knows how full it is. */
class Cache implements HealthOwner {
  fill = 0
  asked = 0
  getStatus(): HealthStatus {
    this.asked += 1
    if (this.fill > 1) return 'failed'
    return this.fill > 0.9 ? 'unhealthy' : 'healthy'
  }
}

function monitored(options: HealthMonitorOptions = { interval: '1s' }) {
  const clock = new ManualClock()
  const changes: HealthChange[] = []
  const problems: string[] = []
  const monitor = new HealthMonitor(options, clock)
  monitor.on('change', (change) => changes.push(change))
  monitor.on('problem', ({ message }) => problems.push(message))
  return { clock, monitor, changes, problems }
}

describe('the health monitor', () => {
  test('tells of each change of a component that is not a worker, with its time', () => {
    const { clock, monitor, changes } = monitored()
    const cache = new Cache()
    const begun = clock.now()
    monitor.register(cache, 'cache:thumbnails')
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
    expect(monitor.status('cache:thumbnails')).toBe('healthy')
    expect(monitor.snapshot()).toEqual([{ id: 'cache:thumbnails', status: 'healthy', since: begun + 4_000 }])
  })

  test('asks one owner for all of its components, every five seconds by default', () => {
    const { clock, monitor } = monitored({})
    const asked: string[] = []
    const owner = {
      getStatus(id: string) {
        asked.push(id)
        return 'pending' as const
      },
    }
    monitor.register(owner, ['a', 'b'])
    clock.advance(4_999)
    expect(asked).toEqual(['a', 'b'])
    clock.advance(1)
    expect(asked).toEqual(['a', 'b', 'a', 'b'])
  })

  test('does not ask any more after failed, until it is registered again', () => {
    const { clock, monitor, changes } = monitored()
    const cache = new Cache()
    monitor.register(cache, 'cache')
    cache.fill = 2
    clock.advance(1_000)
    const { asked } = cache
    cache.fill = 0
    clock.advance(60_000)
    expect([cache.asked, monitor.status('cache')]).toEqual([asked, 'failed'])
    monitor.register(cache, 'cache')
    expect(monitor.status('cache')).toBe('healthy')
    expect(changes.map(({ status, before }) => [before, status])).toEqual([
      [null, 'healthy'],
      ['healthy', 'failed'],
      ['failed', 'healthy'],
    ])
    clock.advance(1_000)
    expect(cache.asked).toBe(asked + 2)
  })

  test('takes an owner that throws, or answers what is no status, for unhealthy, and goes on with the others', async () => {
    const { clock, monitor, problems } = monitored()
    const throws: HealthOwner = {
      getStatus: () => {
        throw new Error('no idea')
      },
    }
    monitor.register(throws, 'throws')
    monitor.register({ getStatus: () => 'fine' } as unknown as HealthOwner, 'nonsense')
    monitor.register({ getStatus: () => Promise.reject(new Error('later')) }, 'rejects')
    monitor.register({ getStatus: async () => 'healthy' as const }, 'answers')
    monitor.register(new Cache(), 'good')
    await turn()
    clock.advance(1_000)
    await turn()
    expect(statuses(monitor)).toEqual({
      throws: 'unhealthy',
      nonsense: 'unhealthy',
      rejects: 'unhealthy',
      answers: 'healthy',
      good: 'healthy',
    })
    expect(problems.slice(0, 2)).toEqual([
      'the owner of throws threw an error',
      'the owner of nonsense answered "fine", which is not a status',
    ])
  })

  test('never waits for an owner that hangs: it is unhealthy from the next interval on, and is asked once until it answers', async () => {
    const { clock, monitor } = monitored()
    let asked = 0
    let answer = (_status: HealthStatus): void => {}
    const slow: HealthOwner = {
      getStatus() {
        asked += 1
        return new Promise((resolve) => (answer = resolve))
      },
    }
    monitor.register(slow, 'slow')
    monitor.register(new Cache(), 'good')
    expect(statuses(monitor)).toEqual({ slow: 'pending', good: 'healthy' })
    clock.advance(10_000)
    expect([statuses(monitor), asked]).toEqual([{ slow: 'unhealthy', good: 'healthy' }, 1])
    answer('healthy')
    await turn()
    expect(monitor.status('slow')).toBe('healthy')
    clock.advance(1_000)
    expect(asked).toBe(2)
  })

  test('a late answer about a component that was unregistered changes nothing', async () => {
    const { monitor, changes } = monitored()
    let answer = (_status: HealthStatus): void => {}
    monitor.register({ getStatus: () => new Promise((resolve) => (answer = resolve)) }, 'slow')
    monitor.unregister('slow')
    answer('failed')
    await turn()
    expect([monitor.snapshot(), changes.length]).toEqual([[], 1])
  })

  test('a listener that throws ends neither the monitoring nor the other listeners', () => {
    const { clock, monitor, changes, problems } = monitored()
    const cache = new Cache()
    const unsubscribe = monitor.on('change', () => {
      throw new Error('a bug of the app')
    })
    monitor.register(cache, 'cache')
    unsubscribe()
    cache.fill = 0.95
    clock.advance(1_000)
    expect(changes).toHaveLength(2)
    expect(problems).toEqual(['a listener for change threw an error'])
  })

  test('forgets what is unregistered, also what failed', () => {
    const { clock, monitor } = monitored()
    const cache = new Cache()
    monitor.register(cache, ['a', 'b'])
    expect(monitor.unregister('a')).toBe(true)
    cache.fill = 2
    clock.advance(1_000)
    expect(monitor.status('b')).toBe('failed')
    expect([monitor.unregister('b'), monitor.unregister('b'), monitor.status('b')]).toEqual([
      true,
      false,
      undefined,
    ])
  })

  test('asks no owner after stop', async () => {
    const { clock, monitor } = monitored()
    const cache = new Cache()
    monitor.register(cache, 'cache')
    await monitor.stop()
    const { asked } = cache
    clock.advance(60_000)
    expect([cache.asked, monitor.snapshot()]).toEqual([asked, []])
  })

  test('refuses what it cannot use, and says what it takes', () => {
    const { monitor } = monitored()
    expect(() => new HealthMonitor({ intervall: '5s' } as never)).toThrow('Did you mean interval?')
    expect(() => new HealthMonitor({ interval: 'often' as never })).toThrow("Use '250ms', '5s'")
    expect(() => new HealthMonitor({ interval: 0 })).toThrow('at least 10 ms')
    expect(() => new HealthMonitor({ history: {} as never })).toThrow('history: this is not a Gleaner')
    expect(() => monitor.register('cache' as never, new Cache() as never)).toThrow(
      'is not the id of a component',
    )
    expect(() => monitor.register({} as never, 'cache')).toThrow('getStatus(id)')
    expect(() => monitor.register(new Cache(), '')).toThrow('is not the id of a component')
    expect(() => monitor.on('changed' as never, () => {})).toThrow('There are: change, problem.')
  })
})

describe('its history', () => {
  function remembered(record: (notes: readonly HealthNote[]) => Promise<void>, interval?: '10s') {
    const clock = new ManualClock()
    const forgotten: string[] = []
    const gleaner: HistoryTarget = {
      health: { record, forget: async (ids) => void forgotten.push(...ids) },
    }
    const history = interval === undefined ? gleaner : { gleaner, interval }
    const monitor = new HealthMonitor({ interval: '1s', history }, clock)
    return { clock, monitor, forgotten }
  }

  test('has every change, written together with others, and all components every 30 s', async () => {
    const written: (readonly HealthNote[])[] = []
    const { clock, monitor, forgotten } = remembered(async (notes) => void written.push(notes))
    const cache = new Cache()
    monitor.register(cache, 'a')
    monitor.register(new Cache(), 'b')
    clock.advance(1_000)
    await turn()
    const first = { status: 'healthy', changedFrom: null, item: null, agoMs: 1_000 }
    expect(written).toEqual([
      [
        { component: 'a', ...first },
        { component: 'b', ...first },
      ],
    ])
    cache.fill = 0.95
    clock.advance(1_500)
    await monitor.stop()
    expect(written[1]).toEqual([
      { component: 'a', status: 'unhealthy', changedFrom: 'healthy', item: null, agoMs: 500 },
    ])
    expect(forgotten).toEqual(['a', 'b'])
  })

  test('has what a component works on, at an interval of your own', async () => {
    const written: HealthNote[] = []
    const { clock, monitor } = remembered(async (notes) => void written.push(...notes), '10s')
    const scanner = {
      item: 'disk 1',
      getStatus: () => 'healthy' as const,
      getCurrentItem: () => scanner.item,
    }
    monitor.register(scanner, 'scanner')
    clock.advance(1_000)
    await turn()
    scanner.item = 'disk 2'
    clock.advance(9_000)
    await turn()
    expect(written.map(({ item }) => item)).toEqual(['disk 1', 'disk 2'])
  })

  test('all components are those that failed as well', async () => {
    const written: HealthNote[] = []
    const { clock, monitor } = remembered(async (notes) => void written.push(...notes))
    const cache = new Cache()
    cache.fill = 2
    monitor.register(cache, 'a')
    clock.advance(1_000)
    await turn()
    clock.advance(29_000)
    await monitor.stop()
    expect(written.map(({ component, status, agoMs }) => [component, status, agoMs])).toEqual([
      ['a', 'failed', 1_000],
      ['a', 'failed', 0],
    ])
  })

  test('a database that is away costs notes, never memory or the monitoring', async () => {
    let hang = (): void => {}
    const writes: number[] = []
    const { clock, monitor } = remembered(async (notes) => {
      writes.push(notes.length)
      if (writes.length === 1) throw new Error('away')
      if (writes.length === 2) await new Promise<void>((resolve) => (hang = resolve))
    })
    const cache = new Cache()
    monitor.register(cache, 'a')
    for (let i = 0; i < 2_000; i++) {
      cache.fill = i % 2 ? 0 : 0.95
      clock.advance(1_000)
      await turn()
    }
    expect(writes).toHaveLength(2)
    expect(monitor.status('a')).toBe('healthy')
    hang()
    await monitor.stop()
    expect(writes[2]).toBe(1_000)
  })

  test('stop does not wait longer than two seconds for a database that hangs', async () => {
    const { clock, monitor } = remembered(() => new Promise(() => {}))
    monitor.register(new Cache(), 'a')
    clock.advance(1_000)
    const stopped = monitor.stop()
    clock.advance(2_000)
    await stopped
  })
})

function statuses(monitor: HealthMonitor): Record<string, HealthStatus> {
  return Object.fromEntries(monitor.snapshot().map(({ id, status }) => [id, status]))
}

/** Promises that were settled have told those that wait for them. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
