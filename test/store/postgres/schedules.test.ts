import { expect, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { newTask } from '../../../src/testing/conformance/world.ts'
import { type Place, test } from './place.ts'

const hourly = { name: 'job', every: '1h', timezone: null }

/** A schedule that is due, since long ago. */
async function dueAt(place: Place): Promise<number> {
  const past = await place.store({ clock: { ...systemClock, now: () => 0 } })
  await past.planSchedules([hourly])
  return 3_600_000
}

test('a process that is lost between taking an occurrence and enqueuing its task loses nothing', async ({
  place,
}) => {
  const at = await dueAt(place)
  const proxy = await place.proxy()
  const victim = await place.store({ url: proxy.url })
  const lost = proxy.lose('question', /INSERT INTO .*tasks/s, /UPDATE .*schedules/s)
  const firing = victim.fireSchedules([newTask()])
  await lost
  await expect(firing).rejects.toMatchObject({ code: 'STORE_AWAY' })
  const other = await place.store()
  expect(await other.listSchedules()).toMatchObject([{ nextAt: at, lastTask: null }])
  expect((await other.fireSchedules([newTask()])).fired).toMatchObject([{ at }])
})

test('an occurrence whose commit went unanswered is not enqueued again', async ({ place }) => {
  const at = await dueAt(place)
  const proxy = await place.proxy()
  const victim = await place.store({ url: proxy.url })
  const lost = proxy.lose('answer', /^COMMIT/, /UPDATE .*schedules/s)
  const firing = victim.fireSchedules([newTask()])
  await lost
  await expect(firing).rejects.toMatchObject({ code: 'STORE_AWAY' })
  const other = await place.store()
  expect((await other.fireSchedules([newTask()])).fired).toEqual([])
  expect(await other.countTasks({})).toMatchObject({ queued: 1 })
  expect(await other.listSchedules()).toMatchObject([{ lastAt: at, lastTask: '1' }])
})

test("a schedule goes by the server's clock, not by that of the process", async ({ place }) => {
  const store = await place.store()
  vi.setSystemTime(0)
  onTestFinished(() => {
    vi.useRealTimers()
  })
  await store.planSchedules([hourly])
  const [{ now }] = await place.rows('SELECT gleaner.now_ms()::float8 AS now')
  const [planned] = await store.listSchedules()
  expect(planned!.nextAt! - now).toBeLessThanOrEqual(3_600_000)
  expect(planned!.nextAt).toBeGreaterThan(now)
  expect((await store.fireSchedules([newTask()])).nextInMs).toBeLessThanOrEqual(3_600_000)
})
