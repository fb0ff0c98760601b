import { expect } from 'vitest'
import { z } from 'zod'
import { defineDiscovery, defineTask, PermanentError } from '../../../src/index.ts'
import { diagnose } from '../../../src/store/by-url/diagnosis.ts'
import { plantHostileFunctions, timesHostile } from './hostile-functions.ts'
import { type Place, test } from './place.ts'
import { rowWorker, source, trade } from './rows-place.ts'
import { databaseWith, echo, files, set, TASKS, workThrough } from './work-through.ts'

const TABLES = `CREATE TYPE public.state AS ENUM ('new', 'old');
CREATE TABLE orders (region char(2), code varchar(20), state public.state, tags text[], due timestamptz NOT NULL DEFAULT now(),
  revision varchar(10) NOT NULL DEFAULT 'a', done boolean NOT NULL DEFAULT false, UNIQUE (region, code));
ALTER TABLE orders ALTER region SET NOT NULL, ALTER code SET NOT NULL;
INSERT INTO orders (region, code, state, tags) SELECT 'eu', 'order-' || n, 'new', '{a}' FROM generate_series(1, 6) n;
CREATE TABLE parts (state public.state PRIMARY KEY, tags varchar[], done boolean NOT NULL DEFAULT false);
INSERT INTO parts VALUES ('new', '{a}'), ('old', '{b}');
CREATE TABLE completed (id varchar PRIMARY KEY, done boolean NOT NULL DEFAULT false);
INSERT INTO completed VALUES ('a'), ('b');
CREATE TABLE effects (n int);
CREATE TABLE crashes (id varchar PRIMARY KEY, done boolean NOT NULL DEFAULT false);
INSERT INTO crashes VALUES ('a'), ('b'), ('c');`

/** Keys, versions and orders of types that the server compares by an operator of another type. */
const orders = defineDiscovery({
  name: 'orders',
  table: 'orders',
  key: ['region', 'code'],
  version: 'revision',
  orderBy: 'due DESC',
  where: 'NOT done',
  retry: { attempts: 2, base: '1ms' },
  run: (row: any, { attempt }: any) => {
    if (row.code === 'order-2' && attempt === 1) throw new Error('once more')
    if (row.code === 'order-3') throw new PermanentError('never')
  },
  done: () => ({ done: true, state: 'old' }),
})
const parts = defineDiscovery({
  name: 'parts',
  table: 'parts',
  key: 'state',
  where: 'NOT done',
  run: () => null,
  done: () => ({ done: true }),
})
/** With SQL of the user in the same transaction. */
const completed = defineDiscovery({
  name: 'completed',
  table: 'completed',
  key: 'id',
  where: 'NOT done',
  run: (_, ctx) =>
    ctx.complete(null, async (tx: any) => {
      await tx.query('INSERT INTO public.effects VALUES (1)')
    }),
  done: () => ({ done: true }),
})

const both = defineTask({
  name: 'both',
  queue: 'weighted',
  input: z.string(),
  limit: { key: (word) => word, concurrency: 1, rate: { count: 100, per: '1s' } },
  run: (_, ctx) =>
    ctx.complete(null, async (tx: any) => {
      await tx.query('INSERT INTO public.effects VALUES (1)')
    }),
})

/** By a store, and not by an engine: the session ends in the middle of its work. */
async function crashWithRows(place: Place, url: string): Promise<void> {
  const store = await place.store({ url })
  const where = { table: 'public.crashes', key: ['id'], where: 'NOT done' }
  await store.rows.planDiscoveries([source(place, { ...where, name: 'crashes' })])
  for (let crash = 0; crash < 2; crash++) {
    const worker = await rowWorker(store, ['crashes'])
    const { claims } = await trade(worker, [], 2)
    expect(claims).not.toEqual([])
    await store.sessions.endSession(worker.session, 'crash')
  }
  for (const state of ['claimed', 'backing-off', 'waiting'] as const)
    await store.rows.listRows('crashes', { state }, { limit: 10, cursor: null })
  await store.rows.rowCircumstances('crashes', 'a')
  for (const table of ['claims', 'ledger']) {
    const after = JSON.stringify({ table, discovery: '', key: '' })
    await store.maintenance.repairRows({ limit: 10, after })
  }
}

test('functions and operators that others created in a schema of the search_path are never called', async ({
  place,
}) => {
  const url = await databaseWith(place, {})
  const client = await place.client(url)
  await client.query(TABLES)
  await plantHostileFunctions(client, ['public.state', 'public.state[]'])

  const engine = await place.open({
    database: url,
    tasks: [...TASKS, both],
    queues: { weighted: { strategy: 'weighted' } },
    discoveries: [files, orders, parts, completed],
    postgres: { wakeTriggers: true },
  })
  const problems: unknown[] = []
  engine.on('problem', (problem) => problems.push(problem))
  await workThrough(place, engine)
  expect(await engine.discoveries.stats('orders')).toMatchObject({ waiting: 0, quarantined: 1 })
  expect(await engine.discoveries.stats('completed')).toMatchObject({ waiting: 0, quarantined: 0 })
  // The trigger runs in the session of the user.
  await client.query('BEGIN')
  await client.query("INSERT INTO orders (region, code) VALUES ('us', 'order-7')")
  await engine.within(client).enqueue(echo, 'within', { key: 'within' })
  await engine.within(client).enqueue(echo, 'later', { key: 'later-too', debounce: '1h' })
  await engine.within(client).enqueue(echo, 'later', { key: 'later-too', debounce: '1h' })
  await engine.within(client).enqueue(echo, 'rare', { key: 'rare', throttle: '1h' })
  await engine.within(client).enqueue(echo, 'once', { key: 'once', keyScope: 'forever' })
  for (const word of ['a', 'a', 'b']) await engine.within(client).enqueue(both, word)
  await client.query('COMMIT')
  await place.until(
    'they are done',
    async () => (await engine.tasks.counts({ queue: 'weighted' })).completed === 3,
  )
  await crashWithRows(place, url)
  expect((await engine.discoveries.rows('orders', { state: 'quarantined' })).items).toHaveLength(1)
  expect((await engine.discoveries.rows('orders')).items).not.toEqual([])
  await engine.discoveries.retry('orders', '["eu","order-3"]')
  expect(problems).toEqual([])
  expect(await timesHostile(client)).toBe(0)
})

test('doctor says in which schemas of the search_path every role may create functions', async ({ place }) => {
  const url = await databaseWith(place, {})
  const client = await place.client(url)
  expect((await diagnose(url)).notes).toEqual([])
  await client.query('GRANT CREATE ON SCHEMA public TO PUBLIC; CREATE SCHEMA "Other"')
  await set(client, { search_path: '"$user", public, "Other", pg_catalog' })
  expect((await diagnose(url)).notes).toEqual([
    {
      message: expect.stringContaining('in the schema public of the search_path'),
      fix: expect.stringContaining('REVOKE CREATE ON SCHEMA "public" FROM PUBLIC;'),
    },
    { message: expect.stringContaining('pg_catalog after public'), fix: expect.any(String) },
  ])
})
