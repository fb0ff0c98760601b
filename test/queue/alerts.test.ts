import { expect, onTestFinished, test } from 'vitest'
import { defineTask, openGleaner } from '../../src/index.ts'
import { readAlerts } from '../../src/queue/alerts.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDatabase } from '../temp-database.ts'

const LIMITS = { backlog: 2, errorRate: 0.1, stalledAfterMs: null }
const fine = defineTask({ name: 'fine', run: async () => 1 })
const bad = defineTask({
  name: 'bad',
  queue: 'bad',
  retry: { attempts: 1 },
  run: async () => {
    throw new Error('no')
  },
})

test('alerts come from what waits, who works and what failed, in any process', async () => {
  const database = `sqlite:${tempDatabase()}`
  const gleaner = await openGleaner({ database, tasks: [fine, bad], timings: { metrics: 1 } })
  const store = await openStore(database)
  onTestFinished(async () => {
    await store.close()
    await gleaner.close()
  })
  const kinds = async () => (await readAlerts(store, LIMITS)).map(({ kind, queue }) => `${queue} ${kind}`)

  for (let i = 0; i < 3; i++) await gleaner.enqueue(fine)
  await gleaner.queues.pause('default')
  expect(await kinds()).toEqual(['default backlog'])
  await gleaner.queues.resume('default')
  expect(await kinds()).toEqual(['default unserved', 'default backlog'])

  for (let i = 0; i < 20; i++) await gleaner.enqueue(bad)
  const worker = gleaner.work()
  await worker.drained()
  await gleaner.metrics()
  expect(await kinds()).toEqual(['bad error-rate'])
})
