import { closeSync, openSync, writeSync } from 'node:fs'
import type Database from 'better-sqlite3'
import type pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/by-url/open.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { newTask, World } from '../conformance/world.ts'
import { PostgresGround } from '../torture/ground/postgres.ts'
import { openPostgresDatabase } from './postgres-database.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

type Harm = (sql: string) => Promise<void>

/** A task in every state, and a way around the engine. */
const PLACES: [name: string, open: () => Promise<{ world: World; harm: Harm }>][] = [
  [
    'SQLite',
    async () => {
      const database = await openSqliteDatabase()
      onTestFinished(() => database.destroy())
      const harm: Harm = (sql) =>
        database.transact(async (tx) => {
          ;(tx as Database.Database).exec(sql.replaceAll('gleaner.', 'gleaner_'))
        })
      return { world: await populated(new World(database, await database.open())), harm }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database = await openPostgresDatabase()
      onTestFinished(() => database.destroy())
      const harm: Harm = (sql) =>
        database.transact(async (tx) => {
          await (tx as pg.Client).query(sql.replaceAll('gleaner.', `${database.schema}.`))
        })
      return { world: await populated(new World(database, await database.open())), harm }
    },
  ],
]

async function populated(world: World): Promise<World> {
  const worker = await world.worker()
  await world.enqueueMany(4, { input: JSON.stringify('x'.repeat(5_000)) })
  await world.enqueue({ runAfter: { ms: 1_000 } })
  const [first, second, third] = await worker.claim(3)
  await worker.log(first!, 'hello')
  await worker.complete(first!)
  await worker.fail(second!)
  await worker.log(third!, 'hello')
  return world
}

/** Done to a task that a worker holds. Check repairs the first two, so each needs a task of its own. */
const TO_HELD: [what: string, sql: string][] = [
  ['a task is held by a session that has ended', 'UPDATE gleaner.sessions SET ended_at = 1'],
  [
    'a fence is higher than the sequence of fences',
    'UPDATE gleaner.tasks SET fence = 1125899906842624 WHERE fence IS NOT NULL',
  ],
  [
    'a task is running, and no worker holds it',
    `UPDATE gleaner.tasks SET fence = NULL WHERE status = 'running'`,
  ],
]

/** One after the other: each can still be seen after those before it. */
const EVERYWHERE: [what: string, sql: string][] = [
  [
    'a lane counts another number of completed tasks than it has',
    'UPDATE gleaner.lanes SET completed = completed + 1',
  ],
  [
    'a lane counts another number of scheduled tasks than it has',
    'UPDATE gleaner.lanes SET scheduled = scheduled - 1',
  ],
  [
    'the status of a task contradicts its finish time',
    `UPDATE gleaner.tasks SET finished_at = NULL WHERE status = 'failed'`,
  ],
  ['a log line or an attempt belongs to no task', `DELETE FROM gleaner.tasks WHERE status = 'failed'`],
  ['a queued task has no rank, or a scheduled task has no time', 'UPDATE gleaner.tasks SET rank = NULL'],
  [
    'a task waits in another line than its lane has, so that no worker would find it in its turn',
    'UPDATE gleaner.tasks SET line = 4711',
  ],
  ['a task belongs to a lane that does not exist', 'UPDATE gleaner.tasks SET lane = 4711'],
  [
    'a row is claimed by a session that has ended',
    `INSERT INTO gleaner.discoveries (name, source) VALUES ('d', '{}');
     INSERT INTO gleaner.claims (discovery, row_key, session, fence, row_version, attempt, claimed_at)
       VALUES ('d', '1', 1, 1, 'v', 1, 0)`,
  ],
  [
    'a quarantined row has a time for its next attempt, or a row that backs off has none',
    `INSERT INTO gleaner.ledger (discovery, row_key, row_version, attempts, crashes, changes, suspect, quarantined,
       blocked_until, history, since)
     VALUES ('d', '1', 'v', 1, 0, 0, CAST(0 AS boolean), CAST(1 AS boolean), 5, '[]', 0)`,
  ],
  ['a claim or a ledger entry belongs to no discovery', 'DELETE FROM gleaner.discoveries'],
]

async function holdAnother(world: World): Promise<void> {
  await world.enqueue()
  const worker = await world.worker()
  await worker.start(await worker.claimOne())
}

describe.each(PLACES)('a check on %s', (_, open) => {
  test('finds whatever is not as it must be, and shows it', async () => {
    const { world, harm } = await open()
    expect(await world.store.maintenance.check()).toEqual([])
    for (const [what, sql] of [...TO_HELD, ...EVERYWHERE]) {
      if (TO_HELD.some(([name]) => name === what)) await holdAnother(world)
      await harm(sql)
      const finding = (await world.store.maintenance.check()).find((one) => one.what === what)
      expect(finding?.examples.length, what).toBeGreaterThan(0)
    }
  })

  test('is not confused by what others do meanwhile', async () => {
    const { world } = await open()
    const worker = await world.worker()
    let isDone = false
    const busy = (async () => {
      while (!isDone) {
        await world.enqueueMany(20)
        await worker.completeAll(await worker.claim(20))
        await world.store.maintenance.pruneTasks(EVERYTHING, { limit: 7 })
      }
    })()
    for (let n = 0; n < 3; n++) expect(await world.store.maintenance.check()).toEqual([])
    isDone = true
    await busy
  })
})

const KEEP_NONE = { ageMs: 0, count: null }
const EVERYTHING = { completed: KEEP_NONE, failed: KEEP_NONE, cancelled: KEEP_NONE }

describe('a check on SQLite', () => {
  test('finds what is wrong with its batches and inputs', async () => {
    const { world, harm } = await PLACES[0]![1]()
    for (const [what, sql] of [
      [
        'a batch counts another number of tasks than workers hold in it',
        'UPDATE gleaner.batches SET unsettled = 9',
      ],
      [
        'a task is held, and no batch of its session lists it, so that it would never go back',
        'DELETE FROM gleaner.batches',
      ],
      ['an input belongs to no task', `INSERT INTO gleaner.inputs VALUES (4711, '1')`],
      ['a task has no input', 'DELETE FROM gleaner.inputs'],
    ]) {
      await harm(sql!)
      expect((await world.store.maintenance.check()).map((finding) => finding.what)).toContain(what)
    }
  })

  test('finds a page that the disk has lost', async () => {
    const database = await openSqliteDatabase()
    onTestFinished(() => database.destroy())
    const world = await populated(new World(database, await database.open()))
    const root = await database.transact(async (tx) =>
      (tx as Database.Database)
        .prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'gleaner_tasks_finished'`)
        .pluck()
        .get(),
    )
    await world.store.maintenance.checkpoint()
    const file = openSync(database.path, 'r+')
    writeSync(file, Buffer.alloc(4_096), 0, 4_096, (Number(root) - 1) * 4_096)
    closeSync(file)
    const store = await database.open()
    expect((await store.maintenance.check())[0]?.what).toMatch(/^SQLite: /)
  })
})

describe('a check on PostgreSQL', () => {
  /** A database of its own, with `amcheck` in it. */
  async function withChecker(): Promise<{ ground: PostgresGround; store: Store }> {
    const ground = await PostgresGround.fresh(inject('postgresUrl'))
    const store = await openStore(ground.database)
    onTestFinished(async () => {
      await store.close()
      await ground.clear()
    })
    return { ground, store }
  }

  test('finds an index that lacks rows', async () => {
    const { ground, store } = await withChecker()
    expect(await store.maintenance.check()).toEqual([])
    const ready = (is: boolean) =>
      ground.rows(`UPDATE pg_index SET indisready = ${is} WHERE indexrelid = 'gleaner.tasks_ready'::regclass`)
    await ready(false)
    await store.tasks.enqueue([newTask()])
    await ready(true)
    expect((await store.maintenance.check()).map(({ examples }) => examples)).toContainEqual([
      { index: 'tasks_ready' },
    ])
  })
})
