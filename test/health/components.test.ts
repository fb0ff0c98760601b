import { describe, expect, onTestFinished, test } from 'vitest'
import { HealthMonitor, type HealthStatus } from '../../src/health/index.ts'
import { gleaner as command } from '../cli/cli.ts'
import { DATABASES, openServer } from '../http/server.ts'
import { until } from '../until.ts'

const names = Object.keys(DATABASES) as (keyof typeof DATABASES)[]

describe.each(names)('components of an app on %s', (name) => {
  async function monitored() {
    const server = await openServer({}, DATABASES[name]())
    let status: HealthStatus = 'healthy'
    const monitor = new HealthMonitor({
      interval: 20,
      // Not shorter: on a busy machine a component would be reported too late, and count as lost.
      history: { gleaner: server.gleaner, interval: '10s' },
    })
    onTestFinished(() => monitor.stop())
    monitor.register({ getStatus: () => status, getCurrentItem: () => 'disk/2' }, 'scanner')
    monitor.on('problem', ({ message }) => expect.unreachable(message))
    const listed = () => server.gleaner.health.components()
    await until('it is listed', async () => (await listed()).length === 1)
    const become = (next: HealthStatus) => {
      status = next
    }
    return { ...server, monitor, listed, become }
  }

  test('are shown beside the workers, over HTTP and in the terminal', async () => {
    const { gleaner, get, url } = await monitored()
    const worker = gleaner.work({ queues: ['default'] })
    await worker.drained()
    expect(await get('/api/v1/health')).toMatchObject({
      status: 'healthy',
      components: [
        { id: worker.id, status: 'healthy', kind: 'worker' },
        { id: 'scanner', status: 'healthy', kind: 'component', item: 'disk/2', lost: false },
      ],
    })
    expect(await get('/api/v1/components')).toMatchObject({ items: [{ id: 'scanner', status: 'healthy' }] })
    const said = await command(process.cwd(), 'status', '--url', url)
    expect(said.stdout).toMatch(/component +health +for +now\nscanner +healthy +\S+( \S+)? +disk\/2/)
  })

  test('have a history that can be read for a chart, and count for the health of all', async () => {
    const { gleaner, get, listed, become } = await monitored()
    const before = (await listed())[0]!.since
    become('failed')
    await until('it failed', async () => (await listed())[0]?.status === 'failed')
    expect(await get('/api/v1/health')).toMatchObject({ status: 'failed' })
    const { items } = await gleaner.health.history({ component: 'scanner', changes: true })
    expect(items).toMatchObject([{ status: 'failed', changedFrom: 'healthy', item: 'disk/2' }])
    const since = items[0]!.at
    const later = await get(`/api/v1/health/history?component=scanner&since=${since}`)
    expect(later.items.every((one: { status: string }) => one.status === 'failed')).toBe(true)
    const earlier = await gleaner.health.history({
      component: 'scanner',
      since: before,
      until: new Date(since),
    })
    expect(earlier.items.every(({ status }) => status === 'healthy')).toBe(true)
    expect(earlier.items.length).toBeGreaterThan(0)
  })

  test('are no longer listed when they were unregistered, or their monitor has stopped', async () => {
    const { monitor, listed } = await monitored()
    monitor.register({ getStatus: () => 'pending' }, 'loader')
    await until('both are listed', async () => (await listed()).length === 2)
    monitor.unregister('loader')
    await until('one is listed', async () => (await listed()).length === 1)
    await monitor.stop()
    expect(await listed()).toEqual([])
  })
})

test('the history refuses what it cannot read or keep', async () => {
  const { gleaner, call } = await openServer()
  await expect(gleaner.health.history({ componnent: 'a' } as never)).rejects.toThrow(
    'Did you mean component?',
  )
  await expect(gleaner.health.history({ since: 'now' as never })).rejects.toThrow('since: now is not a time')
  const note = { component: 'a', status: 'well', changedFrom: null, item: null, agoMs: 0 }
  await expect(gleaner.health.record([note as never], { freshMs: 1 })).rejects.toThrow('pending, healthy')
  expect((await call('/api/v1/health/history?since=yesterday')).status).toBe(400)
})
