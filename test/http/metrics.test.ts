import { describe, expect, test } from 'vitest'
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

  test('whoever asks whether it is alive or ready is answered without a token', async () => {
    let isReady = true
    const { url } = await openServer({ tokens: { operator: 'secret' }, ready: () => isReady }, database())
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
