import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { defineDiscovery, defineTask, openGleaner } from '../../src/index.ts'
import type { AlertLimits } from '../../src/model/alerts.ts'
import { readAlerts } from '../../src/observe/alerts.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import { tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'

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

test('rows that wait are an alert when nobody serves them, when they are many, and when nothing of them is completed', async () => {
  const file = tempDatabase()
  const database = `sqlite:${file}`
  const db = new Database(file)
  db.exec('CREATE TABLE files (id INTEGER PRIMARY KEY, tagged INTEGER NOT NULL DEFAULT 0)')
  db.exec('CREATE INDEX untagged ON files (id) WHERE tagged = 0')
  db.exec('INSERT INTO files (id) VALUES (1), (2), (3)')
  const go = Promise.withResolvers<void>()
  const tag = defineDiscovery({
    name: 'tag',
    table: 'files',
    key: 'id',
    where: 'tagged = 0',
    run: () => go.promise,
    done: () => ({ tagged: 1 }),
  })
  const gleaner = await openGleaner({ database, discoveries: [tag], timings: { metrics: 1 } })
  const store = await openStore(database)
  onTestFinished(async () => {
    db.close()
    await store.close()
    await gleaner.close()
  })
  const kinds = async (limits: Partial<AlertLimits>) => {
    const alerts = await readAlerts(store, { ...LIMITS, backlog: null, ...limits })
    return alerts.map(({ kind, discovery }) => `${discovery} ${kind}`)
  }

  expect(await kinds({ backlog: 2 })).toEqual(['tag unserved', 'tag backlog'])
  // One is being worked on, and does not get anywhere.
  const worker = gleaner.work({ discoveries: ['tag'], concurrency: 1 })
  await until('one is claimed', async () => (await gleaner.discoveries.stats('tag')).claimed === 1)
  expect(await kinds({ backlog: 2 })).toEqual([])
  expect(await kinds({ stalledAfterMs: 1 })).toEqual(['tag stalled'])
  expect(await kinds({ stalledAfterMs: 3_600_000 })).toEqual([])
  go.resolve()
  await worker.drained()
  expect(await kinds({ stalledAfterMs: 1 })).toEqual([])
  // Since when they wait begins anew.
  db.exec('UPDATE files SET tagged = 0')
  await gleaner.discoveries.pause('tag')
  expect(await kinds({ stalledAfterMs: 3_600_000 })).toEqual([])
})
