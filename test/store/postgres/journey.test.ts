import pg from 'pg'
import { expect } from 'vitest'
import { Pipeline, type WireValue } from '../../../src/store/postgres/server/pipeline.ts'
import { type Place, testMigrated as test } from './place.ts'

const OWN = { types: pg.types, asArrays: false }

/** Sends statements together; those with a name are prepared. */
async function send(client: pg.Client, ...asked: [text: string, values?: WireValue[], name?: string][]) {
  const journey = new Pipeline()
  const answers = asked.map(async ([text, values = [], name]) => {
    const { rows } = await journey.add({ ...OWN, text, values, name })
    return rows
  })
  client.query(journey)
  const over = await journey.over.then(
    () => null,
    (error) => error,
  )
  return { over, answers: await Promise.allSettled(answers) }
}

async function table(place: Place): Promise<pg.Client> {
  const client = await place.client()
  await client.query('CREATE TEMPORARY TABLE written (id int, words text)')
  return client
}

test('each statement sees what those before it did, and all are answered', async ({ place }) => {
  const client = await table(place)
  const { over, answers } = await send(
    client,
    ['INSERT INTO written VALUES ($1, $2)', [7, 'seven']],
    ['SELECT id, words FROM written', [], 'all'],
    ['SELECT id, words FROM written WHERE id > $1', [7]],
  )
  expect(over).toBe(null)
  expect(answers).toMatchObject([{ value: [] }, { value: [{ id: 7, words: 'seven' }] }, { value: [] }])
})

test('each answer says how many rows were found or changed', async ({ place }) => {
  const client = await table(place)
  const journey = new Pipeline()
  const texts = [
    'BEGIN',
    "INSERT INTO written VALUES (1, 'a'), (2, 'b')",
    "UPDATE written SET words = 'c' WHERE id = 2",
    'SELECT id FROM written WHERE id > 2',
    'COMMIT',
  ]
  const answers = texts.map((text) => journey.add({ ...OWN, text, values: [] }))
  client.query(journey)
  const counts = (await Promise.all(answers)).map(({ rowCount }) => rowCount)
  expect(counts).toEqual([0, 2, 1, 0, 0])
})

test('what comes again is prepared once, whoever sends it', async ({ place }) => {
  const client = await place.client()
  for (let n = 1; n <= 3; n++) {
    const text = 'SELECT $1::int AS n'
    const { answers } = await send(client, [text, [n], 'number'], [text, [-n], 'number'])
    expect(answers).toMatchObject([{ value: [{ n }] }, { value: [{ n: -n }] }])
  }
  const { rows } = await client.query({ name: 'number', text: 'SELECT $1::int AS n', values: [4] })
  expect(rows).toEqual([{ n: 4 }])
})

test('one that fails takes those behind it along, and is named', async ({ place }) => {
  const client = await table(place)
  const { over, answers } = await send(
    client,
    ['BEGIN'],
    ['INSERT INTO written VALUES (1, NULL)'],
    ['SELECT 1 / $1::int AS one', [0], 'division'],
    ['SELECT 2', [], 'behind'],
    ['COMMIT'],
  )
  expect(over).toMatchObject({ code: '22012' })
  expect(answers.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ])
  await client.query('ROLLBACK')
  // What was prepared is known to be, and what was passed over not to be.
  const again = await send(
    client,
    ['SELECT 1 / $1::int AS one', [1], 'division'],
    ['SELECT 2 AS two', [], 'behind'],
  )
  expect(again.answers).toMatchObject([{ value: [{ one: 1 }] }, { value: [{ two: 2 }] }])
  expect((await client.query('SELECT 1 FROM written')).rows).toEqual([])
})

test('a text that the server refuses is sent again the next time', async ({ place }) => {
  const client = await place.client()
  expect((await send(client, ['SELECT one FROM later', [], 'early'])).over).toMatchObject({ code: '42P01' })
  await client.query('CREATE TEMPORARY TABLE later AS SELECT 1 AS one')
  expect((await send(client, ['SELECT one FROM later', [], 'early'])).answers).toMatchObject([
    { value: [{ one: 1 }] },
  ])
})

test('lists and what stands in them arrive as they were', async ({ place }) => {
  const client = await place.client()
  const texts = ['plain', '', 'a"b', 'back\\slash', '{1,2}', 'NULL', 'ü, "\\"', null]
  const { answers } = await send(client, [
    'SELECT $1::text[] AS texts, $2::bigint[]::text AS numbers, $3::boolean[] AS flags, $4::text AS nothing',
    [texts, [1, 2 ** 53], [true, false], null],
  ])
  const flags = [true, false]
  expect(answers).toMatchObject([
    { value: [{ texts, numbers: '{1,9007199254740992}', flags, nothing: null }] },
  ])
})

test('a connection that breaks on the way is told', async ({ place }) => {
  const client = await place.client()
  client.on('error', () => {})
  const { over, answers } = await send(
    client,
    ['SELECT pg_terminate_backend(pg_backend_pid())'],
    ['SELECT 1'],
  )
  expect(over).toBeInstanceOf(Error)
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('a value that cannot be read fails the statement that asked for it, and no other', async ({ place }) => {
  const client = await place.client()
  const journey = new Pipeline()
  const unreadable = () => {
    throw new Error('unreadable')
  }
  const types = { getTypeParser: () => unreadable } as unknown as pg.CustomTypesConfig
  const answers = [
    journey.add({ ...OWN, types, text: 'SELECT 1 AS one', values: [] }),
    journey.add({ ...OWN, text: 'SELECT 2 AS two', values: [] }),
  ]
  client.query(journey)
  await journey.over
  await expect(answers[0]).rejects.toThrow('unreadable')
  expect(await answers[1]).toEqual({ rows: [{ two: 2 }], rowCount: 1 })
  expect((await client.query('SELECT 3 AS three')).rows).toEqual([{ three: 3 }])
})
