import pg from 'pg'
import { describe, expect, onTestFinished } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import type { Child } from './child.ts'
import { type Place, test } from './place.ts'
import { everySecond } from './recurring-tasks.ts'

const SECONDS = 5
const WEEK = 7 * 24 * 3_600_000

interface Ground {
  database: string
  /** Nobody works for as long: every schedule lies that much further back. */
  standStill(ms: number): Promise<unknown>
}

const GROUNDS: Record<string, (place: Place) => Promise<Ground>> = {
  sqlite: async (place) => ({
    database: place.database,
    standStill: async (ms) =>
      place.connect().prepare('UPDATE gleaner_schedules SET next_at = next_at - ?').run(ms),
  }),
  async postgres() {
    const { url, schema, elsewhere, destroy } = await openPostgresDatabase()
    onTestFinished(destroy)
    return {
      database: elsewhere.database,
      async standStill(ms) {
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        await client.query(`UPDATE ${schema}.schedules SET next_at = next_at - $1`, [ms])
        await client.end()
      },
    }
  },
}

/** Between them, they have completed that many more. */
async function completed(children: readonly Child[], more: number): Promise<void> {
  let count = 0
  await new Promise<void>((resolve, reject) => {
    for (const child of children) {
      const hear = (): void => {
        child.next('completed').then(() => {
          count += 1
          if (count >= more) resolve()
          else hear()
        }, reject)
      }
      hear()
    }
  })
}

describe.for(Object.entries(GROUNDS))('on %s', ([, groundOf]) => {
  test('processes that race for the same schedule enqueue each occurrence once', async ({ place }) => {
    const { database } = await groundOf(place)
    const children = [1, 2].map(() => place.start('recurring.ts', { database }))
    await Promise.all(children.map((child) => child.hears('ready')))
    await completed(children, SECONDS)
    for (const child of children) child.tell('close')
    await Promise.all(children.map((child) => child.hears('closed')))
    const gleaner = await place.open({ database, tasks: [everySecond] })
    const { items: tasks } = await gleaner.tasks.list({ name: 'every-second' })
    // Enqueued right at the second, or late on a busy machine; but never two for the same one.
    const seconds = tasks.map(({ createdAt }) => Math.floor(createdAt / 1_000))
    expect(tasks.length).toBeGreaterThanOrEqual(SECONDS)
    expect(new Set(seconds).size).toBe(seconds.length)
    expect(children.flatMap((child) => child.all('problem'))).toEqual([])
  })

  test('what was missed while nobody worked is made up for by one task', async ({ place }) => {
    const { database, standStill } = await groundOf(place)
    const weekly = defineTask({ name: 'weekly', every: '7d', run: () => 'done' })
    const gleaner = await place.open({ database, tasks: [weekly] })
    const planned = (await gleaner.schedules.list())[0]!.nextAt!
    await standStill(5 * WEEK)
    const made = new Promise<string>((resolve) => gleaner.on('completed', ({ id }) => resolve(id)))
    const worker = gleaner.work()
    const id = await made
    await worker.drained()
    expect((await gleaner.tasks.list()).items.map((task) => task.id)).toEqual([id])
    expect(await gleaner.schedules.list()).toMatchObject([
      { lastTask: id, lastAt: planned - 5 * WEEK, nextAt: planned },
    ])
  })
})
