import { expect } from 'vitest'
import { identifySelf } from '../../../src/process-identity.ts'
import { migrations } from '../../../src/store/postgres/migrations/index.ts'
import { migrate } from '../../../src/store/postgres/migrations/migrate.ts'
import type { Migration } from '../../../src/store/postgres/migrations/migration.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { type Place, test } from './place.ts'

const LATEST = migrations.at(-1)!.version
const next: Migration = {
  version: LATEST + 1,
  name: 'next',
  sql: (schema) => `CREATE TABLE ${schema}.next (id integer)`,
}

function openDatabase(place: Place): Database {
  const database = new Database({ url: place.url, schema: place.schema, poolSize: 2 })
  place.atEnd(() => database.close())
  return database
}

async function applied(place: Place): Promise<number[]> {
  return (await place.rows('SELECT version FROM gleaner.migrations ORDER BY 1')).map(({ version }) => version)
}

const session = {
  worker: 'worker:old:0',
  process: identifySelf(),
  queues: ['default'],
  names: [],
  capabilities: {},
}

test('8 engines that open a fresh schema at the same moment all work: one migrates, the others wait', async ({
  place,
}) => {
  const engines = await Promise.all(Array.from({ length: 8 }, () => place.open()))
  await Promise.all(engines.map((engine) => engine.pause()))
  expect(await applied(place)).toEqual(migrations.map(({ version }) => version))
})

test('a database that a newer version has used is refused, and closed again', async ({ place }) => {
  const store = await place.store()
  await store.close()
  await migrate(openDatabase(place), [...migrations, next])
  const proxy = await place.proxy()
  await expect(place.store({ url: proxy.url })).rejects.toMatchObject({
    code: 'STORE_NEWER',
    hint: expect.any(String),
  })
  await place.until('no connection is left', () => proxy.open === 0)
  expect(await applied(place)).toEqual([...migrations.map(({ version }) => version), next.version])
})

test('while workers of the old version live nothing is changed: STORE_MIGRATION names them', async ({
  place,
}) => {
  const store = await place.store()
  const id = await store.sessions.openSession(session)
  const database = openDatabase(place)
  const migrating = migrate(database, [...migrations, next])
  await expect(migrating).rejects.toMatchObject({
    code: 'STORE_MIGRATION',
    message: expect.stringContaining(`worker:old:0 (pid ${process.pid}`),
  })
  expect(await applied(place)).toEqual(migrations.map(({ version }) => version))
  await store.sessions.endSession(id, 'stop')
  await migrate(database, [...migrations, next])
  expect(await place.rows('SELECT * FROM gleaner.next')).toEqual([])
})

test('a worker that is proved dead does not hold a migration up', async ({ place }) => {
  const store = await place.store()
  await store.sessions.openSession({ ...session, process: { ...session.process, startTime: 'another life' } })
  await migrate(openDatabase(place), [...migrations, next])
  expect(await applied(place)).toContain(next.version)
})

test('a migration that fails leaves nothing behind', async ({ place }) => {
  await place.store()
  const broken = { ...next, sql: (schema: string) => `${next.sql(schema)}; SELECT 1 / 0` }
  await expect(migrate(openDatabase(place), [...migrations, broken])).rejects.toMatchObject({
    code: 'STORE_FAILED',
  })
  expect(await applied(place)).toEqual(migrations.map(({ version }) => version))
  expect(await place.rows(`SELECT to_regclass('gleaner.next') AS found`)).toEqual([{ found: null }])
})
