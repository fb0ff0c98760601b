import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { insideOf } from '../../src/engine/inside.ts'
import { Meter } from '../../src/observe/meter.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { DATABASES, embed, openServer, plain } from './server.ts'

/** The lines of Prometheus's text, by their name and labels. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  )
}

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  test('Prometheus is told depth, counters, durations and sizes; counters survive and never go back', async () => {
    const options = database()
    const { gleaner, get } = await openServer({}, options)
    await gleaner.enqueueMany(plain, [undefined, undefined])
    await gleaner.enqueue(embed, { path: 'bad' }, { retry: { attempts: 1 } })
    await gleaner.enqueue(plain, undefined, { runAfter: '1h', queue: 'later' })
    await gleaner.work().drained()
    const samples = samplesIn(await get('/metrics'))
    const named = (name: string) => samples.get(name)
    expect(named('gleaner_tasks{queue="later",status="scheduled"}')).toBe(1)
    expect(named('gleaner_tasks{queue="default",status="completed"}')).toBe(2)
    expect(named('gleaner_tasks_enqueued_total{queue="default",task="plain"}')).toBe(2)
    expect(named('gleaner_tasks_completed_total{queue="default",task="plain"}')).toBe(2)
    expect(named('gleaner_tasks_failed_total{queue="ml",task="ml.embed"}')).toBe(1)
    expect(named('gleaner_tasks_errors_total{queue="ml",task="ml.embed",kind="error"}')).toBe(1)
    expect(named('gleaner_tasks_duration_seconds_count{queue="default",task="plain"}')).toBe(2)
    expect(named('gleaner_tasks_duration_seconds_bucket{queue="default",task="plain",le="+Inf"}')).toBe(2)
    expect(named('gleaner_tasks_duration_seconds_bucket{queue="default",task="plain",le="1800"}')).toBe(2)
    expect(named('gleaner_database_bytes')).toBeGreaterThan(0)
    // What was done is counted without end, though the tasks are gone.
    await gleaner.tasks.removeAll({}, { all: true })
    const later = samplesIn(await get('/metrics'))
    expect(later.get('gleaner_tasks_completed_total{queue="default",task="plain"}')).toBe(2)
    expect(later.get('gleaner_tasks{queue="default",status="completed"}')).toBe(0)
  })

  test('Prometheus is told of claims, of conflicts, and of what was rescued from workers that were gone', async () => {
    const { gleaner, get } = await openServer({}, { ...database(), timings: { metrics: '10ms' } })
    const { store } = insideOf(gleaner)
    const none = samplesIn(await get('/metrics'))
    for (const name of ['gleaner_claims_total{source="tasks"}', 'gleaner_rescues_total{cause="lease"}'])
      expect(none.get(name), name).toBe(0)
    await gleaner.enqueueMany(plain, [undefined, undefined])
    // Somebody who took both, and is no more.
    const dead = { ...identifySelf(), startTime: 'another' }
    const able = { queues: ['default'], names: ['plain'], capabilities: {} }
    const session = await store.sessions.openSession({ worker: 'worker:gone:0', process: dead, ...able })
    const nothing = { starts: [], outcomes: [], progress: [], logs: [] }
    const want = { able, start: 2, ahead: 0, empty: false }
    expect((await store.tasks.exchange({ session, ...nothing, want })).claims).toHaveLength(2)
    const lost = new Promise((resolve) => gleaner.on('worker-lost', resolve))
    const worker = gleaner.work()
    await lost
    await worker.drained({ includeDelayed: true })
    // As a worker that came too late counts it, in this process or another.
    const meter = new Meter(store.admin, systemClock, 1_000)
    meter.claimed('rows', 0, 3)
    await meter.close()
    const samples = samplesIn(await get('/metrics'))
    const named = (name: string) => samples.get(`gleaner_${name}`)
    expect(named('claims_total{source="tasks"}')).toBe(2)
    expect(named('claims_total{source="rows"}')).toBe(0)
    expect(named('claim_conflicts_total{source="rows"}')).toBe(3)
    expect(named('workers_lost_total{cause="crash"}')).toBe(1)
    expect(named('rescues_total{cause="crash"}')).toBe(2)
    expect(named('rescues_total{cause="lease"}')).toBe(0)
    expect(named('tasks_fenced_total{queue="default",task="plain"}')).toBe(0)
    expect(named('wal_bytes')).toEqual(expect.any(Number))
    expect([...samples.keys()].filter((name) => name.includes(':workers'))).toEqual([])
    // What is counted of workers is no queue of anybody's.
    expect((await gleaner.metrics()).queues.map(({ queue }) => queue)).toEqual(['default'])
  })

  test('whoever asks whether it is alive or ready is answered without a token', async () => {
    let isReady = true
    const { url } = await openServer(
      { tokens: { operator: 'a-secret-of-operators' }, ready: () => isReady },
      database(),
    )
    const status = async (path: string) => (await fetch(url + path)).status
    expect([await status('/healthz'), await status('/readyz'), await status('/metrics')]).toEqual([
      200, 200, 401,
    ])
    isReady = false
    expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 503])
  })
})

test('without its database a server lives, and is not ready', async () => {
  const { gleaner, call } = await openServer()
  await gleaner.close()
  expect(await call('/healthz')).toMatchObject({ status: 200 })
  expect(await call('/readyz')).toMatchObject({ status: 503 })
  expect(await call('/api/v1/queues')).toMatchObject({ status: 503, body: { error: { code: 'CLOSED' } } })
})
