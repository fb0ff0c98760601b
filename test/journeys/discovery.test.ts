import { describe, expect, onTestFinished, test } from 'vitest'
import { ClaimLostError, type Gleaner, type GleanerOptions, openGleaner } from '../../src/index.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import { tagFiles } from '../discovery/library.ts'
import { BOTH } from '../torture/ground/both.ts'
import { type Ground, read } from '../torture/ground/ground.ts'
import { until } from '../until.ts'
import { deferred } from './deferred.ts'

const FILES = [
  `CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, tags TEXT, needs_tagging INTEGER NOT NULL DEFAULT 1)`,
  'CREATE INDEX files_to_tag ON files (id) WHERE needs_tagging = 1',
]
/** On SQLite a commit of anybody's wakes workers; on PostgreSQL, where a table of the user's says nothing, they look. */
const timingsOn = (database: string) =>
  database === 'SQLite'
    ? ({ idleMin: '5m', idleMax: '5m' } as const)
    : ({ idleMin: '100ms', idleMax: '100ms' } as const)

describe.each(BOTH)('discovery on %s', (database, openGround) => {
  async function library(rows: number): Promise<Ground> {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    for (const sql of FILES) await ground.rows(sql)
    for (let id = 1; id <= rows; id++)
      await ground.rows(`INSERT INTO files (id, path) VALUES (${id}, '${id}.flac')`)
    return ground
  }

  async function open(ground: Ground, options: Omit<GleanerOptions, 'database'>): Promise<Gleaner> {
    const gleaner = await openGleaner({ database: ground.database, ...options })
    onTestFinished(() => gleaner.close())
    return gleaner
  }

  const left = async (ground: Ground) =>
    Number((await read(ground, 'SELECT count(*) FROM files WHERE needs_tagging = 1'))[0])

  test('a row that somebody else marks is picked up soon, by an idle worker', async () => {
    const ground = await library(1)
    const gleaner = await open(ground, { discoveries: [tagFiles()], timings: timingsOn(database) })
    await gleaner.work().drained()
    const done = new Promise((resolve) => gleaner.on('completed', resolve))
    await ground.rows('UPDATE files SET needs_tagging = 1')
    expect(await done).toMatchObject({ id: 'tag-files/1', attempt: 1 })
    expect(await left(ground)).toBe(0)
  })

  test('drained, with what is delayed, waits for rows that back off, and not for those in quarantine', async () => {
    const ground = await library(3)
    const discovery = tagFiles({
      retry: { attempts: 2, backoff: 'fixed', base: '1s' },
      run: async (row, ctx) => {
        if (row.id === 1 || (row.id === 2 && ctx.attempt === 1)) throw new Error('not yet')
      },
    })
    const gleaner = await open(ground, { discoveries: [discovery] })
    const worker = gleaner.work()
    await worker.drained({ includeDelayed: true })
    expect(await gleaner.discoveries.stats('tag-files')).toMatchObject({
      waiting: 0,
      claimed: 0,
      backingOff: 0,
      quarantined: 1,
    })
    expect(await left(ground)).toBe(1)
  })

  test('a worker whose session somebody ended changes nothing, and its signal says so', async () => {
    const ground = await library(1)
    const [running, goOn] = [deferred<AbortSignal>(), deferred()]
    let runs = 0
    const discovery = tagFiles({
      run: async (_row, ctx) => {
        runs += 1
        if (runs > 1) return 'the second'
        running.resolve(ctx.signal)
        await goOn.promise
        return 'too late'
      },
    })
    const gleaner = await open(ground, { discoveries: [discovery], timings: { poll: '20ms', lease: '1h' } })
    const lost = new Promise((resolve) => gleaner.on('claim-lost', resolve))
    gleaner.work({ concurrency: 1 })
    const signal = await running.promise

    const store = await openStore(ground.database, { durability: 'normal', postgres: {} })
    onTestFinished(() => store.close())
    for (const { id } of await store.sessions.liveSessions()) await store.sessions.endSession(id, 'lease')
    await lost
    goOn.resolve()
    expect(signal.reason).toBeInstanceOf(ClaimLostError)
    await until('the row is done', async () => (await left(ground)) === 0)
    expect(await read(ground, 'SELECT tags FROM files')).toEqual(['the second'])
  })

  test('many rows and tasks are worked off by one worker, and the counts of rows are exact', async () => {
    const ground = await library(0)
    await ground.rows(`INSERT INTO files (id, path)
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
      SELECT n, n || '.flac' FROM numbers`)
    const gleaner = await open(ground, { discoveries: [tagFiles()] })
    expect(await gleaner.discoveries.stats('tag-files')).toMatchObject({ waiting: 3_000, claimed: 0 })
    const worker = gleaner.work({ concurrency: 20 })
    await worker.drained()
    expect(await left(ground)).toBe(0)
    expect(await read(ground, "SELECT count(*) FROM files WHERE tags = 'tags of ' || path")).toEqual([
      expect.toSatisfy((count) => Number(count) === 3_000),
    ])
    await until(
      'the stats say so',
      async () => (await gleaner.discoveries.stats('tag-files')).waiting === 0,
      2_000,
    )
    expect((await gleaner.discoveries.stats('tag-files')).donePerMinute).toBeGreaterThan(0)
  })
})
