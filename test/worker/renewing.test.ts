import { on } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/by-url/open.ts'
import { type FromKeeper, keepRenewing, type ToKeeper } from '../../src/worker/keeper/renewing.ts'
import { tempDatabase } from '../temp-database.ts'

test('a database that is not there at first is opened later', async () => {
  const folder = `${tempDatabase()}-later`
  const path = join(folder, 'tasks.db')
  const { port1: ours, port2: theirs } = new MessageChannel()
  const heard: FromKeeper[] = []
  const lost = Promise.withResolvers<string>()
  const failed = Promise.withResolvers<void>()
  ours.on('message', (message: FromKeeper) => {
    heard.push(message)
    if ('failed' in message) failed.resolve()
    else lost.resolve(message.lost)
  })
  onTestFinished(() => ours.close())
  keepRenewing(theirs, { plan: { store: 'sqlite', path }, leaseMs: 15 })
  ours.postMessage({ hold: '1' } satisfies ToKeeper)
  await failed.promise

  await mkdir(folder)
  const store = await openStore(`sqlite:${path}`, { durability: 'normal', postgres: {} })
  onTestFinished(() => store.close())
  // It has asked: there is no such session.
  expect(await lost.promise).toBe('1')
  ours.postMessage({ close: true } satisfies ToKeeper)
})

test('a renewal that failed is tried again long before the next one is due', async () => {
  const [LEASE_MS, EVERY_MS] = [6_000, 2_000]
  const path = tempDatabase()
  const store = await openStore(`sqlite:${path}`, { durability: 'normal', postgres: {} })
  onTestFinished(() => store.close())
  const raw = new Database(path)
  onTestFinished(() => void raw.close())
  // As where the disk is full.
  raw.exec(`CREATE TRIGGER full BEFORE UPDATE ON gleaner_lease_clock BEGIN SELECT raise(ABORT, 'full'); END`)
  const { port1: ours, port2: theirs } = new MessageChannel()
  onTestFinished(() => ours.close())
  const heard: FromKeeper[] = []
  const hearing = on(ours, 'message')
  keepRenewing(theirs, { plan: { store: 'sqlite', path }, leaseMs: LEASE_MS })
  ours.postMessage({ hold: '1' } satisfies ToKeeper)
  let freedMs = Number.POSITIVE_INFINITY
  for await (const [message] of hearing) {
    heard.push(message)
    if ('lost' in message) break
    raw.exec('DROP TRIGGER full')
    freedMs = performance.now()
  }
  // There is no such session.
  expect(heard).toEqual([{ failed: expect.stringContaining('full') }, { lost: '1' }])
  expect(performance.now() - freedMs).toBeLessThan(EVERY_MS / 2)
  ours.postMessage({ close: true } satisfies ToKeeper)
})
