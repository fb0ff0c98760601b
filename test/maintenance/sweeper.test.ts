import { setImmediate as turn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Sweeper } from '../../src/maintenance/sweeper.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { openRenewer } from '../../src/store/renewer.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { tempDatabase } from '../temp-database.ts'

const LEASE_MS = 30_000
const EVERY_MS = 2_000

async function scene() {
  const path = tempDatabase()
  const clock = new ManualClock()
  const store = await openSqliteStore({ path, clock })
  onTestFinished(() => store.close())
  const isDead = { answer: false }
  const sweeper = new Sweeper(store, clock, {
    leaseMs: LEASE_MS,
    everyMs: EVERY_MS,
    isDead: () => isDead.answer,
  })
  const session = await store.openSession({
    worker: 'worker:test:0',
    process: identifySelf(),
    queues: [],
    names: [],
    capabilities: {},
  })
  const live = async () => (await store.liveSessions()).length === 1
  /** Time passes, and the sweeper comes by as often as it does. */
  const watch = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += EVERY_MS) {
      clock.advance(EVERY_MS)
      await sweeper.sweep()
    }
  }
  return { path, clock, store, sweeper, session, live, watch, isDead }
}

describe('a session', () => {
  test('that is not renewed for a whole lease ends, and not before', async () => {
    const { sweeper, live, watch } = await scene()
    await sweeper.sweep()
    await watch(LEASE_MS - EVERY_MS)
    expect(await live()).toBe(true)
    await watch(EVERY_MS)
    expect(await live()).toBe(false)
  })

  test('that is renewed in time never ends', async () => {
    const { store, session, live, watch } = await scene()
    const renewer = await openRenewer(store.renewal()!)
    for (let i = 0; i < 10; i++) {
      await watch(LEASE_MS / 2)
      await renewer.renew([session])
    }
    await renewer.close()
    expect(await live()).toBe(true)
  })

  test('whose process is proved dead ends at once', async () => {
    const { sweeper, live, isDead } = await scene()
    isDead.answer = true
    await sweeper.sweep()
    expect(await live()).toBe(false)
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
    await store.setPaused('another', false)
    expect(await live()).toBe(true)
    const renewer = await openRenewer(store.renewal()!)
    expect(await renewer.renew([session])).toEqual([session])
    await renewer.close()
    sweeper.stop()
  })
})
