import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { type FromKeeper, keepRenewing, type ToKeeper } from '../../src/worker/renewing.ts'
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
  keepRenewing(theirs, { plan: { store: 'sqlite', path }, everyMs: 5 })
  ours.postMessage({ hold: '1' } satisfies ToKeeper)
  await failed.promise

  await mkdir(folder)
  const store = await openStore(`sqlite:${path}`, { durability: 'normal', postgres: {} })
  onTestFinished(() => store.close())
  // It has asked: there is no such session.
  expect(await lost.promise).toBe('1')
  ours.postMessage({ close: true } satisfies ToKeeper)
})
