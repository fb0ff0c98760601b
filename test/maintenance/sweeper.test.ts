import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Sweeper } from '../../src/maintenance/sweeper.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { openRenewer } from '../../src/store/by-url/renewer.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { tempDatabase } from '../temp-database.ts'

const LEASE_MS = 30_000
const RENEWAL_MS = LEASE_MS / 3
const EVERY_MS = 2_000

async function scene() {
  const path = tempDatabase()
  const clock = new ManualClock()
  const store = await openSqliteStore({ path, clock })
  const raw = new Database(path)
  onTestFinished(async () => {
    raw.close()
    await store.close()
  })
  const isDead = { answer: false }
  const sweeper = new Sweeper(store, clock, {
    leaseMs: LEASE_MS,
    everyMs: EVERY_MS,
    isDead: () => isDead.answer,
  })
  const open = (worker: string, pulls?: { leaseMs: number; caller: string | null }) =>
    store.sessions.openSession({
      worker,
      process: identifySelf(),
      queues: [],
      names: [],
      capabilities: {},
      pulls,
    })
  await store.sessions.advanceLeaseClock(LEASE_MS)
  const session = await open('worker:test:0')
  const live = async () => (await store.sessions.liveSessions()).some(({ id }) => id === session)
  /** What a keeper does, at this test's time. */
  const renew = async (id: string) => {
    const time = await store.sessions.advanceLeaseClock(LEASE_MS)
    raw
      .prepare('UPDATE gleaner_sessions SET renewals = renewals + 1, lease_time = ? WHERE id = ?')
      .run(time, id)
  }
  /** Time passes. The sweeper comes by as often as it does, and `renewed` are renewed as often as they are. */
  const watch = async (ms: number, ...renewed: string[]) => {
    for (let passed = EVERY_MS; passed <= ms; passed += EVERY_MS) {
      clock.advance(EVERY_MS)
      if (passed % RENEWAL_MS === 0) for (const id of renewed) await renew(id)
      await sweeper.sweep()
    }
  }
  return { path, clock, store, sweeper, session, open, live, watch, renew, isDead }
}

describe('a session', () => {
  test('that is not renewed for a whole lease, while others are, ends, and not before', async () => {
    const { live, watch, open, renew } = await scene()
    const other = await open('worker:test:1')
    await renew(other)
    await watch(LEASE_MS - EVERY_MS, other)
    expect(await live()).toBe(true)
    await watch(EVERY_MS, other)
    expect(await live()).toBe(false)
  })

  test('that is renewed in time never ends', async () => {
    const { session, live, watch } = await scene()
    await watch(10 * LEASE_MS, session)
    expect(await live()).toBe(true)
  })

  for (const [length, leaseMs] of Object.entries({ short: 2 * EVERY_MS, long: 10 * LEASE_MS })) {
    test(`of a caller over HTTP with a ${length} lease ends after that lease, though nothing else renews`, async () => {
      const { store, session, open, watch } = await scene()
      await store.sessions.endSession(session, 'stop')
      await open('gpu-box', { leaseMs, caller: 'python' })
      await watch(leaseMs - EVERY_MS)
      expect(await store.sessions.liveSessions()).toHaveLength(1)
      await watch(2 * EVERY_MS)
      expect(await store.sessions.liveSessions()).toHaveLength(0)
    })
  }

  test('whose process is proved dead ends at once', async () => {
    const { sweeper, live, isDead } = await scene()
    isDead.answer = true
    await sweeper.sweep()
    expect(await live()).toBe(false)
  })

  test('does not end while no session can be renewed: a full disk', async () => {
    const { session, live, watch, renew } = await scene()
    await renew(session)
    await watch(10 * LEASE_MS)
    expect(await live()).toBe(true)
    // Another process is the first that can renew again; this one can at its next renewal.
    await watch(RENEWAL_MS, session)
    expect(await live()).toBe(true)
  })

  test.each([
    ['ahead', 3_600_000],
    ['years ahead', 5 * 365 * 86_400_000],
  ])('does not end when the clock is set %s', async (_, ms) => {
    const { clock, session, open, renew, live, watch } = await scene()
    const other = await open('worker:test:1')
    await watch(RENEWAL_MS, session, other)
    await watch(RENEWAL_MS - EVERY_MS)
    clock.advance(ms)
    // The other one is the first to renew, and this one is late.
    await renew(other)
    await watch(RENEWAL_MS, other)
    expect(await live()).toBe(true)
  })

  test('whose worker is gone ends also after the clock was set back', async () => {
    const { clock, open, renew, live, watch } = await scene()
    const other = await open('worker:test:1')
    await watch(RENEWAL_MS, other)
    clock.advance(-86_400_000)
    await renew(other)
    await watch(LEASE_MS, other)
    expect(await live()).toBe(false)
  })

  test('whose worker is gone ends also where every process lives for less than a renewal', async () => {
    const { clock, store, live } = await scene()
    const ends: boolean[] = []
    for (let process = 0; process < 12; process++) {
      clock.advance(60_000)
      const sweeper = new Sweeper(store, clock, { leaseMs: LEASE_MS, everyMs: EVERY_MS, isDead: () => false })
      sweeper.start()
      // The verbs of the store come in order.
      await store.sessions.advanceLeaseClock(LEASE_MS)
      await store.sessions.liveSessions()
      for (let i = 0; i < 5; i++) await turn()
      sweeper.stop()
      ends.push(await live())
    }
    expect(ends[0]).toBe(true)
    expect(ends.at(-1)).toBe(false)
  })

  test('is not judged for a time in which nobody watched: a closed lid, a stopped sweeper', async () => {
    const { clock, sweeper, live } = await scene()
    await sweeper.sweep()
    clock.advance(3_600_000)
    await sweeper.sweep()
    expect(await live()).toBe(true)
  })

  test('is not judged for a time in which somebody locked the database, and nobody could renew', async () => {
    const { path, clock, store, sweeper, session, live } = await scene()
    const app = new Database(path)
    onTestFinished(() => void app.close())
    sweeper.start()
    await turn()
    app.exec('BEGIN IMMEDIATE')
    for (let i = 0; i < (2 * LEASE_MS) / EVERY_MS; i++) {
      clock.advance(EVERY_MS)
      for (let j = 0; j < 5; j++) await turn()
    }
    app.exec('COMMIT')
    // The worst case: what the sweeper may have wanted to write is written before the worker can renew.
    await store.admin.setPaused('another', false)
    expect(await live()).toBe(true)
    const renewer = await openRenewer(store.sessions.renewal()!, LEASE_MS)
    expect(await renewer.renew([session])).toEqual([session])
    await renewer.close()
    sweeper.stop()
  })
})
