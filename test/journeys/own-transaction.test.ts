import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { test } from './place.ts'
import { quick, tasks } from './tasks.ts'

const ORDERS = 'CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL)'

describe("inside a transaction of the app's own", () => {
  test('the task exists when it commits, and an idle worker in another process picks it up', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start('worker.ts', { timings: { idleMin: '10m', idleMax: '10m' } })
    await (await gleaner.enqueue(quick, 0)).result()
    const db = place.connect()
    db.exec(ORDERS)
    const handle = db
      .transaction(() => {
        db.prepare('INSERT INTO orders (name) VALUES (?)').run('a')
        return gleaner.within(db).enqueue(quick, 7)
      })
      .immediate()
    expect(handle).toMatchObject({ id: expect.any(String), created: true })
    await child.hears('running', ({ id }) => id === handle.id)
    expect(await handle.result()).toBe(7)
  })

  test('nothing is left of it when that rolls back, and others go on', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const db = place.connect()
    db.exec(ORDERS)
    const order = db.transaction(() => {
      db.prepare('INSERT INTO orders (name) VALUES (?)').run('a')
      gleaner.within(db).enqueue(quick, 1)
      // A lane of its own, which goes with it.
      gleaner.within(db).enqueue(quick, 2, { queue: 'new' })
      throw new Error('out of stock')
    })
    expect(() => order.immediate()).toThrow('out of stock')
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0 })
    expect(db.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(0)
    const handle = db.transaction(() => gleaner.within(db).enqueue(quick, 3, { queue: 'new' })).immediate()
    gleaner.work({ queues: ['new'] })
    expect(await handle.result()).toBe(3)
  })

  test('keys hold: the answer names the holder', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const first = await gleaner.enqueue(quick, 1, { key: 'k' })
    const db = place.connect()
    const second = db.transaction(() => gleaner.within(db).enqueue(quick, 2, { key: 'k' })).immediate()
    expect(second).toMatchObject({ id: first.id, created: false })
  })

  test('it is refused outside a transaction', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const db = place.connect()
    expect(() => gleaner.within(db).enqueue(quick, 1)).toThrow(
      expect.objectContaining({ code: 'NOT_IN_TRANSACTION' }),
    )
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0 })
  })

  test('it is refused on another file', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const db = place.connect(join(place.folder, 'other.db'))
    const enqueue = db.transaction(() => gleaner.within(db).enqueue(quick, 1))
    expect(() => enqueue.immediate()).toThrow(expect.objectContaining({ code: 'STORE_OTHER' }))
  })

  test('it is refused in a database in memory, and for what is no connection', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const memory = new Database(':memory:')
    const enqueue = memory.transaction(() => gleaner.within(memory).enqueue(quick, 1))
    expect(() => enqueue.immediate()).toThrow(expect.objectContaining({ code: 'STORE_OTHER' }))
    memory.close()
    expect(() => gleaner.within({} as never).enqueue(quick, 1)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    )
  })

  test('it is refused with a schema that cannot answer at once, and nothing is written', async ({
    place,
  }) => {
    const task = defineTask({
      name: 'asynchronous',
      input: z.number().refine(async (n) => n > 0),
      run: async (n) => n,
    })
    const gleaner = await place.open({ tasks: [task] })
    const db = place.connect()
    const enqueue = db.transaction(() => gleaner.within(db).enqueue(task, 1))
    expect(() => enqueue.immediate()).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0 })
    // Outside it may take its time.
    expect((await gleaner.enqueue(task, 1)).created).toBe(true)
  })

  test('bad input throws, and the transaction can go on without it', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const db = place.connect()
    db.exec(ORDERS)
    db.transaction(() => {
      expect(() => gleaner.within(db).enqueue(quick, 'seven' as never)).toThrow(
        expect.objectContaining({ code: 'BAD_INPUT' }),
      )
      db.prepare('INSERT INTO orders (name) VALUES (?)').run('a')
    }).immediate()
    expect(db.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(1)
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0 })
  })
})
