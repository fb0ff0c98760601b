import { expect } from 'vitest'
import { defineDiscovery } from '../../src/index.ts'
import { test } from '../testing/open-test.ts'

const RECORDS = `
CREATE TABLE big (id INTEGER PRIMARY KEY, todo INTEGER NOT NULL DEFAULT 1, seen INTEGER);
CREATE TABLE words (word TEXT PRIMARY KEY, todo TEXT NOT NULL DEFAULT 'yes');
CREATE TABLE places (country TEXT, number INTEGER, todo INTEGER DEFAULT TRUE, PRIMARY KEY (country, number));
CREATE INDEX big_todo ON big (id) WHERE todo = 1;
CREATE INDEX words_todo ON words (word) WHERE todo = 'yes';
CREATE INDEX places_todo ON places (country, number) WHERE todo;`

test('keys above 2^53 stay exact, in the row, the id, the record and what is written', async ({ open }) => {
  const keys = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]
  const rows: unknown[] = []
  const ids: string[] = []
  const big = defineDiscovery({
    name: 'big',
    table: 'big',
    key: 'id',
    where: 'todo = 1',
    run: async (row, ctx) => {
      rows.push(row.id)
      ids.push(ctx.id)
      return row.id as bigint
    },
    done: (id) => ({ todo: 0, seen: id }),
  })
  const t = await open({
    discoveries: [big],
    setup: (db) => {
      db.exec(RECORDS)
      for (const key of keys) db.prepare('INSERT INTO big (id) VALUES (?)').run(key)
    },
  })
  const sorted = [...keys].sort((a, b) => (a < b ? -1 : 1))
  expect((await t.discoveries.rows('big')).items.map(({ key }) => key)).toEqual(sorted.map(String))
  expect(await t.discoveries.row('big', String(keys[0]))).toMatchObject({ state: 'waiting' })
  expect(await t.discoveries.row('big', String(2n ** 53n))).toBeNull()
  await t.runUntilIdle()
  expect(rows).toEqual(sorted)
  expect(ids).toEqual(sorted.map((key) => `big/${key}`))
  expect(t.db.prepare('SELECT count(*) AS n FROM big WHERE todo = 0 AND seen = id').get().n).toBe(3)
})

test('keys are texts with odd characters, or of several columns', async ({ open }) => {
  const odd = ["it's", 'a/b', 'a "quoted" one', '%_\\', ' ', 'ä€😀', 'x'.repeat(400)]
  const ids: string[] = []
  const noteId = async (_row: unknown, ctx: { id: string }) => ids.push(ctx.id)
  const words = defineDiscovery({
    name: 'words',
    table: 'words',
    key: 'word',
    where: "todo = 'yes'",
    run: noteId,
    done: () => ({ todo: 'no' }),
  })
  const places = defineDiscovery({
    name: 'places',
    table: 'places',
    key: ['country', 'number'],
    where: 'todo',
    run: noteId,
    done: () => ({ todo: false }),
  })
  const t = await open({
    discoveries: [words, places],
    setup: (db) => {
      db.exec(RECORDS)
      for (const word of odd) db.prepare('INSERT INTO words (word) VALUES (?)').run(word)
      for (const [country, number] of [
        ['de', 1],
        ['de', 2],
        ['d"e', 3],
      ] as const)
        db.prepare('INSERT INTO places (country, number) VALUES (?, ?)').run(country, number)
    },
  })
  expect(await t.discoveries.row('places', '["de",2]')).toMatchObject({ key: '["de",2]', state: 'waiting' })
  for (const word of odd) expect(await t.discoveries.row('words', word)).toMatchObject({ key: word })
  await t.runUntilIdle()
  expect(new Set(ids)).toEqual(
    new Set([
      ...odd.map((word) => `words/${word}`),
      'places/["de",1]',
      'places/["de",2]',
      'places/["d\\"e",3]',
    ]),
  )
  expect(t.db.prepare('SELECT (SELECT count(*) FROM words WHERE todo = ?) AS words').get('yes').words).toBe(0)
  expect(t.db.prepare('SELECT count(*) AS n FROM places WHERE todo').get().n).toBe(0)
})
