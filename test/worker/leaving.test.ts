import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { openEngine } from '../../src/engine/open.ts'
import { defineTask } from '../../src/index.ts'
import type { Exchange } from '../../src/store/ports/exchange.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { connect, freshPath, openStore } from '../store/sqlite/folder.ts'

/** The store, whose answers arrive only when they are let through. */
function slow(store: Store) {
  const heard = Promise.withResolvers<void>()
  const letThrough = Promise.withResolvers<void>()
  const exchange = async (asked: Exchange) => {
    const answer = await store.tasks.exchange(asked)
    if (!answer.suspectsWaiting) return answer
    heard.resolve()
    await letThrough.promise
    return answer
  }
  return {
    store: { ...store, tasks: { ...store.tasks, exchange } },
    heard: heard.promise,
    letThrough: letThrough.resolve,
  }
}

test('a worker that was told to stop holds nobody back for a suspect of its own', async () => {
  const path = freshPath()
  const { store, heard, letThrough } = slow(await openStore(path))
  const gate = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const long = defineTask({
    name: 'long',
    queue: 'few',
    run: async () => {
      started.resolve()
      await gate.promise
    },
  })
  const suspect = defineTask({ name: 'suspect', queue: 'few', run: () => {} })
  const other = defineTask({ name: 'other', queue: 'many', run: () => 'done' })
  const engine = await openEngine(
    { store, clock: systemClock, random: Math.random },
    { tasks: [long, suspect, other] },
  )
  onTestFinished(() => engine.close())
  await engine.enqueue(long)
  const leaving = engine.work({ queues: ['few'] })
  await started.promise

  const db = connect(path)
  db.transaction(() => {
    engine.within(db).enqueue(suspect)
    db.exec(`UPDATE gleaner_tasks SET suspect = 1 WHERE status = 'queued'`)
  }).immediate()
  await heard
  const left = leaving.stop({ drain: '1h' })
  letThrough()

  engine.work({ queues: ['many'] })
  expect(await (await engine.enqueue(other)).result({ timeout: '20s' })).toBe('done')
  gate.resolve()
  await left
})
