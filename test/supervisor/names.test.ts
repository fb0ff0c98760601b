import { expect, onTestFinished, test } from 'vitest'
import { identifySelf, type ProcessIdentity } from '../../src/process-identity.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { takeDefaultLeadership } from '../../src/supervisor/leadership.ts'
import { SILENT } from '../../src/supervisor/logger.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { tempDatabase } from '../temp-database.ts'

const REPORTS_EVERY_MS = 5_000
const SILENT_MS = 30_000

const self = identifySelf()
/** In another container, which has the same host name. */
const elsewhere: ProcessIdentity = { ...self, boot: self.boot.replace(/pid:.*/, 'pid:[1]') }

async function scene() {
  let timers = 0
  let seen = 0
  let wake = () => {}
  const clock = new ManualClock(undefined, () => {
    timers += 1
    wake()
  })
  /** Until it has asked for time to pass. */
  const waiting = async () => {
    if (timers === seen) await new Promise<void>((resolve) => (wake = resolve))
    seen = timers
  }
  const store = await openSqliteStore({ path: tempDatabase(), clock })
  onTestFinished(() => store.close())
  return { clock, store, waiting }
}

/** Takes the leadership while time passes; tells for how long that took. */
async function take(
  { clock, store, waiting }: Awaited<ReturnType<typeof scene>>,
  reports: () => Promise<unknown>,
) {
  const startMs = clock.monotonicMs()
  let taken: string | undefined
  const taking = takeDefaultLeadership(store, SILENT, { host: 'box', clock }).then(({ name }) => {
    taken = name
  })
  let reportedMs = startMs
  while (clock.monotonicMs() < startMs + 2 * SILENT_MS) {
    await Promise.race([taking, waiting()])
    if (taken !== undefined) break
    if (clock.monotonicMs() >= reportedMs + REPORTS_EVERY_MS) {
      await reports()
      reportedMs += REPORTS_EVERY_MS
    }
    clock.advance(250)
  }
  await taking
  return { name: taken, tookMs: clock.monotonicMs() - startMs }
}

const report = (store: Store, name: string, term: number) =>
  store.sessions.report({ name, term, workers: '[]', handled: null, leaving: false })

test('supervisors in two containers that share a host name have a name each, and end none of the other', async () => {
  const place = await scene()
  const { store } = place
  const term = (await store.sessions.takeLeadership('box', elsewhere, null))!
  const { name, tookMs } = await take(place, () => report(store, 'box', term))
  expect(name).toBe('box-2')
  expect(tookMs).toBeLessThanOrEqual(REPORTS_EVERY_MS + 1_000)
  // It still leads.
  expect(await report(store, 'box', term)).toBe(true)
})

test('the name of a supervisor that was killed with its container becomes free', async () => {
  const place = await scene()
  await place.store.sessions.takeLeadership('box', elsewhere, null)
  const { name, tookMs } = await take(place, async () => {})
  expect(name).toBe('box')
  expect(tookMs).toBeLessThanOrEqual(SILENT_MS + 1_000)
})

test('a name that nobody holds is taken at once, and a second supervisor beside it is refused', async () => {
  const { clock, store } = await scene()
  expect(await takeDefaultLeadership(store, SILENT, { host: 'box', clock })).toMatchObject({ name: 'box' })
  await expect(takeDefaultLeadership(store, SILENT, { host: 'box', clock })).rejects.toMatchObject({
    code: 'SUPERVISOR_RUNS',
  })
})
