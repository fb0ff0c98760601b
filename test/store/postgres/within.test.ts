import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner, InputError, type PostgresTx } from '../../../src/index.ts'
import { counts } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const mail = defineTask({ name: 'mail', input: z.number(), run: (order) => `mailed ${order}` })

/** An app with a table of its own, and a pool of its own with `pg`'s own types: int8 comes as a string. */
async function app(
  place: Place,
): Promise<{ gleaner: Gleaner; pool: pg.Pool; orders: () => Promise<string[]> }> {
  const gleaner = await place.open({ tasks: [mail] })
  const pool = new pg.Pool({ connectionString: place.url, max: 2 })
  place.atEnd(() => pool.end())
  await pool.query(`CREATE TABLE ${place.schema}.orders (id bigint GENERATED ALWAYS AS IDENTITY, what text)`)
  const orders = async () =>
    (await pool.query(`SELECT what FROM ${place.schema}.orders ORDER BY id`)).rows.map(({ what }) => what)
  return { gleaner, pool, orders }
}

/** For Kysely: its transaction, as a client. */
function ofKysely(trx: Transaction<any>): PostgresTx {
  return {
    async query(text, values = []) {
      const { rows } = await trx.executeQuery(CompiledQuery.raw(text, values))
      return { rows }
    },
  }
}

/** For Drizzle: its transaction, as a client. `sql.param` hands a value over as it is, an array included. */
function ofDrizzle(tx: { execute(query: SQL): Promise<{ rows: any[] }> }): PostgresTx {
  return {
    query(text, values = []) {
      const parts = text.split(/\$(\d+)/)
      return tx.execute(
        sql.join(parts.map((part, i) => (i % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1])))),
      )
    },
  }
}

/** The same transaction, as users of three libraries write it. Each throws after its writes when told to. */
type Transact = (
  place: Place,
  pool: pg.Pool,
  work: (tx: PostgresTx, insert: () => Promise<unknown>) => Promise<void>,
) => Promise<void>

const LIBRARIES: Record<string, Transact> = {
  async pg(place, pool, work) {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await work(client, () => client.query(`INSERT INTO ${place.schema}.orders (what) VALUES ('tea')`))
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  },
  async Kysely(place, pool, work) {
    const db = new Kysely<any>({ dialect: new PostgresDialect({ pool }) }).withSchema(place.schema)
    await db.transaction().execute(async (trx) => {
      await work(ofKysely(trx), () => trx.insertInto('orders').values({ what: 'tea' }).execute())
    })
  },
  async Drizzle(place, pool, work) {
    const db = drizzle(pool)
    await db.transaction(async (tx) => {
      await work(ofDrizzle(tx), () =>
        tx.execute(sql`INSERT INTO ${sql.identifier(place.schema)}.orders (what) VALUES ('tea')`),
      )
    })
  },
}

describe.for(Object.entries(LIBRARIES))('within a transaction of %s', ([, transact]) => {
  test('a task is there when it commits, and runs', async ({ place }) => {
    const { gleaner, pool, orders } = await app(place)
    gleaner.work()
    let ids: string[] = []
    await transact(place, pool, async (tx, insert) => {
      await insert()
      const { enqueue } = gleaner.within(tx)
      ids = [(await enqueue(mail, 1)).id, (await enqueue(mail, 2, { runAfter: '1h', priority: 5 })).id]
      // Nobody else sees them yet.
      expect(await gleaner.tasks.counts()).toEqual(counts({}))
      expect(await orders()).toEqual([])
    })
    expect(await gleaner.handle(mail, ids[0]!).result()).toBe('mailed 1')
    expect(await gleaner.tasks.get(ids[1]!)).toMatchObject({ status: 'scheduled', input: 2, priority: 5 })
    expect(await gleaner.tasks.counts()).toEqual(counts({ completed: 1, scheduled: 1 }))
    expect(await orders()).toEqual(['tea'])
  })

  test('a task is gone when it rolls back, with everything else', async ({ place }) => {
    const { gleaner, pool, orders } = await app(place)
    const rolling = transact(place, pool, async (tx, insert) => {
      await insert()
      await gleaner.within(tx).enqueue(mail, 1, { key: 'order-1', keyScope: 'forever' })
      throw new Error('out of tea')
    })
    await expect(rolling).rejects.toThrow('out of tea')
    expect(await gleaner.tasks.counts()).toEqual(counts({}))
    expect(await orders()).toEqual([])
    // Its key is free again.
    expect((await gleaner.enqueue(mail, 1, { key: 'order-1' })).created).toBe(true)
  })

  test('a key finds its holder, whatever the client makes of large numbers', async ({ place }) => {
    const { gleaner, pool } = await app(place)
    const holder = await gleaner.enqueue(mail, 1, { key: 'order-1' })
    const answers: { id: string; created: boolean }[] = []
    await transact(place, pool, async (tx) => {
      for (const key of ['order-1', 'order-2', 'order-2']) {
        const { id, created } = await gleaner.within(tx).enqueue(mail, 2, { key })
        answers.push({ id, created })
      }
    })
    const second = answers[1]!.id
    expect(answers).toEqual([
      { id: holder.id, created: false },
      { id: second, created: true },
      { id: second, created: false },
    ])
    expect(await gleaner.tasks.get(second)).toMatchObject({ key: 'order-2', status: 'queued' })
    expect(await gleaner.tasks.counts()).toEqual(counts({ queued: 2 }))
  })
})

test('a key in a transaction keeps the others waiting until it ends, and never makes two', async ({
  place,
}) => {
  const { gleaner, pool } = await app(place)
  const client = await pool.connect()
  await client.query('BEGIN')
  const mine = await gleaner.within(client).enqueue(mail, 1, { key: 'k' })
  const theirs = gleaner.enqueue(mail, 2, { key: 'k' })
  await place.until('the other waits', async () => {
    const waiting = await place.rows(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid IN
         (SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_advisory_xact_lock%')`,
    )
    return waiting.length > 0
  })
  await client.query('COMMIT')
  client.release()
  expect(await theirs).toMatchObject({ id: mine.id, created: false })
})

test('the effects of ctx.complete may enqueue, in the same transaction', async ({ place }) => {
  const gleaner = await place.open({ tasks: [mail] })
  const order = defineTask({
    name: 'order',
    run: (_: undefined, ctx) =>
      ctx.complete('ordered', async (tx: any) => {
        await gleaner.within(tx).enqueue(mail, 7)
      }),
  })
  const shop = await place.open({ tasks: [order, mail] })
  const worker = shop.work()
  expect(await (await shop.enqueue(order)).result()).toBe('ordered')
  await worker.drained()
  expect(await shop.tasks.counts()).toEqual(counts({ completed: 2 }))
})

test('ctx.enqueue in the effects of ctx.complete enqueues with the completion, or not at all', async ({
  place,
}) => {
  const order = defineTask({
    name: 'order',
    retry: { attempts: 2, base: '1ms' },
    run: (_: undefined, ctx) =>
      ctx.complete('ordered', async () => {
        await ctx.enqueue(mail, 7)
        if (ctx.attempt === 1) throw new Error('in the middle')
      }),
  })
  const shop = await place.open({ tasks: [order, mail] })
  const worker = shop.work()
  expect(await (await shop.enqueue(order)).result()).toBe('ordered')
  await worker.drained()
  expect(await shop.tasks.counts()).toEqual(counts({ completed: 2 }))
})

test('effects that hold all connections of the pool may enqueue: none of them needs another', async ({
  place,
}) => {
  const all = Promise.withResolvers<void>()
  let inside = 0
  const order = defineTask({
    name: 'order',
    retry: { attempts: 1 },
    run: (_: undefined, ctx) =>
      ctx.complete('ordered', async () => {
        inside += 1
        if (inside === 2) all.resolve()
        await all.promise
        await ctx.enqueue(mail, 7)
      }),
  })
  const shop = await place.open({ tasks: [order, mail], postgres: { poolSize: 2 } })
  await shop.enqueue(mail, 1)
  const orders = await shop.enqueueMany(order, [undefined, undefined])
  const worker = shop.work({ concurrency: 3 })
  await Promise.all(orders.map((handle) => handle.result()))
  await worker.drained()
  expect(await shop.tasks.counts()).toEqual(counts({ completed: 5 }))
})

test('what is no client is refused', async ({ place }) => {
  const { gleaner } = await app(place)
  for (const nothing of [null, undefined, {}, 'client', { query: 1 }]) {
    expect(() => gleaner.within(nothing as any)).toThrow(InputError)
  }
})
