import type { RowOutcome } from '../../src/model/row.ts'
import type { DiscoverySource, RowClaim } from '../../src/store/ports/rows.ts'
import { DONE, FILES, fileSource, keysOf, type RowWorker, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

/** The table with another key. */
const rebuilt = (key: string, value: string) => [
  `CREATE TABLE renewed (${key}, path text, needs integer, valid integer, bpm integer, edited integer)`,
  `INSERT INTO renewed SELECT ${value}, path, needs, valid, bpm, edited FROM files`,
  'DROP TABLE files',
  'ALTER TABLE renewed RENAME TO files',
]

interface Alteration {
  sql: readonly string[]
  /** What the reason of the pause names. */
  says: string
  /** What makes the table fit again. */
  back: readonly string[]
  source?: Partial<DiscoverySource>
}

/** After these the declaration does not fit its table any more. */
const BREAKING: Record<string, Alteration> = {
  'its table is dropped': {
    sql: ['DROP TABLE files'],
    says: 'no table',
    back: [FILES, `INSERT INTO files VALUES (7, 'f7', 1, 1, NULL, 0)`],
  },
  'its table is renamed': {
    sql: ['ALTER TABLE files RENAME TO archive'],
    says: 'no table',
    back: ['ALTER TABLE archive RENAME TO files'],
  },
  'its table is replaced by a view': {
    sql: ['ALTER TABLE files RENAME TO archive', 'CREATE VIEW files AS SELECT * FROM archive'],
    says: 'view',
    back: ['DROP VIEW files', 'ALTER TABLE archive RENAME TO files'],
  },
  'the column of its key is renamed': {
    sql: ['ALTER TABLE files RENAME COLUMN id TO uid'],
    says: 'no column id',
    back: ['ALTER TABLE files RENAME COLUMN uid TO id'],
  },
  'the column of its key is dropped': {
    sql: rebuilt('other integer PRIMARY KEY', 'id'),
    says: 'no column id',
    back: ['ALTER TABLE files RENAME COLUMN other TO id'],
  },
  'a column of its condition is dropped': {
    sql: ['DROP INDEX files_to_do', 'ALTER TABLE files DROP COLUMN valid'],
    says: 'valid',
    back: ['ALTER TABLE files ADD COLUMN valid integer NOT NULL DEFAULT 1'],
  },
  'the column of its version is dropped': {
    sql: ['ALTER TABLE files DROP COLUMN edited'],
    says: 'edited',
    back: ['ALTER TABLE files ADD COLUMN edited integer NOT NULL DEFAULT 0'],
    source: { version: 'edited' },
  },
}

/** After these it still fits. */
const HARMLESS: Record<string, readonly string[]> = {
  'an unused column is dropped': ['ALTER TABLE files DROP COLUMN path'],
  'an unused column is renamed': ['ALTER TABLE files RENAME COLUMN path TO place'],
  'a column is added': ['ALTER TABLE files ADD COLUMN genre text'],
  'its index is dropped': ['DROP INDEX files_to_do'],
  'its table is made anew with the same rows': [
    'ALTER TABLE files RENAME TO archive',
    FILES,
    'INSERT INTO files SELECT * FROM archive',
    'DROP TABLE archive',
  ],
  'its table is made anew with wider types': rebuilt('id bigint PRIMARY KEY', 'id'),
}

const FAILED: RowOutcome = {
  kind: 'failed',
  failure: { kind: 'error', message: 'no', stack: null },
  retryAfterMs: 1_000,
}

const COMPLETED: RowOutcome = { kind: 'completed', values: DONE, retryAfterMs: 1_000 }

/** How the rows in flight end. */
const OUTCOMES: readonly RowOutcome[] = [
  COMPLETED,
  COMPLETED,
  FAILED,
  { kind: 'later', afterMs: 1_000 },
  { kind: 'returned' },
]

async function handIn(worker: RowWorker, claims: readonly RowClaim[], outcomes = OUTCOMES) {
  const handedIn = claims.map(({ id, fence }, at) => ({ id, fence, startedAt: 0, outcome: outcomes[at]! }))
  return (await worker.exchange({ outcomes: handedIn })).answers
}

async function place(world: World, source: Partial<DiscoverySource> = {}) {
  await withFiles(world, 6, source)
  const { tables } = world.database
  await tables.run('CREATE INDEX files_to_do ON files (id) WHERE needs = 1 AND valid = 1')
  await tables.run(FILES.replace('files', 'others'))
  await tables.run(`INSERT INTO others VALUES (1, 'o1', 1, 1, NULL, 0), (2, 'o2', 1, 1, NULL, 0)`)
  await world.store.rows.planDiscoveries([
    fileSource(world, source),
    fileSource(world, { name: 'others', table: tables.named('others') }),
  ])
  return rowWorker(world, { discoveries: ['tag-files', 'others'] })
}

async function alter(world: World, statements: readonly string[]): Promise<void> {
  for (const sql of statements) await world.database.tables.run(sql)
}

/** Rows of the discovery that are free now. */
async function claimFrom(worker: RowWorker, name: string): Promise<RowClaim[]> {
  return (await worker.claimAll()).filter(({ discovery }) => discovery === name)
}

export const rowsAltering: Theme = (specify, expect) => {
  for (const [what, { sql, says, back, source }] of Object.entries(BREAKING)) {
    specify(
      `when ${what}, rows in flight are given back and the discovery says why it is paused`,
      async (world) => {
        const worker = await place(world, source)
        const claims = await worker.claim(5)
        await alter(world, sql)
        const answers = await handIn(worker, claims)
        expect(answers.map(({ kind }) => kind)).toEqual(['paused', 'paused', 'paused', 'paused', 'returned'])
        expect((answers[0] as { reason: string }).reason).toContain(says)
        expect((await world.store.rows.listDiscoveries())[1]).toMatchObject({
          name: 'tag-files',
          paused: true,
        })
        expect((await world.store.rows.listDiscoveries())[1]!.pausedReason).toContain(says)
        expect(keysOf(await claimFrom(worker, 'others'))).toEqual(['1', '2'])
        expect((await worker.end('stop')).returned).toBe(2)

        await alter(world, back)
        await world.store.rows.setDiscoveryPaused('tag-files', false)
        const next = await worker.begin()
        const again = await claimFrom(next, 'tag-files')
        expect(again.length).toBeGreaterThan(0)
        const ends = again.map(() => COMPLETED)
        expect((await handIn(next, again, ends)).map(({ kind }) => kind)).toEqual(again.map(() => 'done'))
      },
    )

    specify(`when ${what}, a completion with effects is undone and the row is given back`, async (world) => {
      const worker = await place(world, source)
      const [claim] = await worker.claim(1)
      await alter(world, sql)
      const answer = await worker.completeWith(claim!, (tx) => world.database.notes.write(tx, 'effect'))
      expect(answer).toMatchObject({ kind: 'paused' })
      expect(await world.database.notes.all()).toEqual([])
      expect((await worker.end('stop')).returned).toBe(0)
    })

    specify(
      `when ${what} before anything is claimed, only that discovery is paused, and explains it`,
      async (world) => {
        const worker = await place(world, source)
        const [first] = await worker.claim(1)
        await worker.giveBack(first!)
        await alter(world, sql)
        expect(keysOf(await worker.claimAll())).toEqual(['1', '2'])
        const [, discovery] = await world.store.rows.listDiscoveries()
        expect(discovery).toMatchObject({ name: 'tag-files', paused: true })
        expect(discovery!.pausedReason).toContain(says)
        const at = await world.store.rows.rowCircumstances('tag-files', '1')
        expect(at).toMatchObject({ paused: true, row: null })
        expect(at.pausedReason).toContain(says)
      },
    )

    specify(`when ${what} and then the worker dies, nothing stays claimed`, async (world) => {
      const worker = await place(world, source)
      await worker.claim(5)
      await alter(world, sql)
      await worker.end('crash')
      const next = await worker.begin()
      expect(await claimFrom(next, 'tag-files')).toEqual([])
      await alter(world, back)
      await world.store.rows.setDiscoveryPaused('tag-files', false)
      expect((await claimFrom(next, 'tag-files')).length).toBeGreaterThan(0)
    })
  }

  for (const [what, sql] of Object.entries(HARMLESS)) {
    specify(`when ${what}, rows in flight are handed in and the discovery goes on`, async (world) => {
      const worker = await place(world)
      const claims = await worker.claim(5)
      await alter(world, sql)
      const [done, second, ...others] = await handIn(worker, claims)
      expect(second!.kind).toBe(done!.kind)
      // The row may look edited: then it is done again.
      expect(['done', 'changed']).toContain(done!.kind)
      for (const { kind } of others) expect(['failed', 'changed', 'returned']).toContain(kind)
      expect((await world.store.rows.listDiscoveries())[1]).toMatchObject({
        paused: false,
        pausedReason: null,
      })
      world.clock.advance(5_000)
      const rest = await claimFrom(worker, 'tag-files')
      expect(rest).toHaveLength(done!.kind === 'done' ? 4 : 6)
      const ends = rest.map(() => COMPLETED)
      expect((await handIn(worker, rest, ends)).map(({ kind }) => kind)).toEqual(rest.map(() => 'done'))
      expect((await world.store.rows.listDiscoveries())[1]).toMatchObject({ paused: false })
      expect((await worker.end('stop')).returned).toBe(2)
    })
  }

  specify(
    'when its key is no longer unique, nothing stays claimed and nothing more is claimed',
    async (world) => {
      const worker = await place(world)
      const claims = await worker.claim(5)
      await alter(world, rebuilt('id integer NOT NULL', 'id'))
      await handIn(worker, claims)
      expect(await claimFrom(worker, 'tag-files')).toEqual([])
      expect((await world.store.rows.listDiscoveries())[1]!.pausedReason).toContain('unique')
      expect((await worker.end('stop')).returned).toBe(2)
    },
  )

  specify(
    'when a column that done sets is dropped, nothing stays claimed and the reason names it',
    async (world) => {
      const worker = await place(world)
      const claims = await worker.claim(5)
      await alter(world, ['ALTER TABLE files DROP COLUMN bpm'])
      const [done] = await handIn(worker, claims)
      expect(done).toMatchObject({ kind: 'paused' })
      expect((done as { reason: string }).reason).toContain('bpm')
      expect((await worker.end('stop')).returned).toBe(0)
    },
  )
}
