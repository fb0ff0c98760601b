import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { expect } from 'vitest'
import { z } from 'zod'
import { defineDiscovery, defineTask, type Gleaner, PermanentError } from '../../../src/index.ts'
import { counts } from '../../conformance/world.ts'
import type { Place } from './place.ts'

const FILES = `CREATE TABLE files (id int PRIMARY KEY, done boolean NOT NULL DEFAULT false, note text, at timestamptz,
  part float8, bytes bytea, changed timestamptz NOT NULL DEFAULT '2026-07-01 12:00+00')`
const ROWS = 'INSERT INTO files (id, at, part, bytes) SELECT id, $1, $2, $3 FROM generate_series(1, 3) id'

/** A database of its own, with a few rows and these settings. */
export async function databaseWith(place: Place, settings: Record<string, string>): Promise<string> {
  const name = `hostile_${randomUUID().replaceAll('-', '')}`
  await place.rows(`CREATE DATABASE ${name}`)
  place.atEnd(() => place.rows(`DROP DATABASE ${name} WITH (FORCE)`))
  const url = new URL(place.url)
  url.pathname = name
  const client = await place.client(url.href)
  await client.query(FILES)
  await client.query(ROWS, [WHEN, FRACTION, BYTES])
  await set(client, settings)
  return url.href
}

/** For connections that are opened from now on. */
export async function set(client: pg.Client, settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings))
    await client.query(
      `ALTER DATABASE ${client.database} SET ${name} = ${name === 'search_path' ? value : `'${value}'`}`,
    )
}

const WHEN = new Date('2026-11-18T08:00:00.123Z')
const FRACTION = 0.1 + 0.2
const BYTES = Buffer.from([0, 92, 255])

export const echo = defineTask({
  name: 'echo',
  input: z.string(),
  retry: { attempts: 2, base: '1ms' },
  run: (word, { attempt }) => {
    if (word === 'twice' && attempt === 1) throw new Error('once more')
    if (word === 'never') throw new PermanentError('never')
    return `${word} \\ "${word}"`
  },
})
const limited = defineTask({
  name: 'limited',
  queue: 'limited',
  input: z.string(),
  limit: { key: (word) => word, concurrency: 1 },
  run: () => null,
})
const complete = defineTask({
  name: 'complete',
  run: (_: undefined, ctx) =>
    ctx.complete(null, async (tx: any) => {
      // Longer than the database lets a transaction idle.
      await new Promise((resolve) => setTimeout(resolve, 20))
      await tx.query(
        `UPDATE files SET note = pg_catalog.current_setting('transaction_isolation') WHERE id = 2`,
      )
    }),
})
const seen: unknown[] = []
export const files = defineDiscovery({
  name: 'files',
  table: 'files',
  key: 'id',
  where: 'NOT done',
  retry: { attempts: 1 },
  run: (row: any) => {
    seen.push(row)
    if (row.id === 3) throw new Error('broken')
  },
  done: () => ({ done: true }),
})
const often = defineTask({ name: 'often', queue: 'often', every: '1s', run: () => null })
export const TASKS = [echo, limited, complete, often]

/** All that an engine does, in short. */
export async function workThrough(place: Place, engine: Gleaner): Promise<void> {
  seen.length = 0
  const handles = await engine.enqueueMany(echo, ['once', 'twice', 'never'])
  const keyed = await engine.enqueue(echo, 'keyed', { key: "k'\\" })
  const later = await engine.enqueue(echo, 'later', { runAfter: '1h', key: 'later' })
  expect((await engine.enqueue(echo, 'again', { key: 'later' })).created).toBe(false)
  await engine.enqueueMany(limited, ['a', 'a', 'b'])
  await engine.enqueue(complete)
  expect((await engine.tasks.explain(later.id)).runnable).toBe(false)

  await engine.work({ concurrency: 3 }).drained()

  expect(await handles[0]!.result()).toBe('once \\ "once"')
  expect(await keyed.result()).toBe('keyed \\ "keyed"')
  expect(await engine.tasks.get(handles[1]!.id)).toMatchObject({ status: 'completed', attempts: 2 })
  expect(await engine.tasks.get(handles[2]!.id)).toMatchObject({
    status: 'failed',
    error: { kind: 'permanent' },
  })
  expect(await engine.tasks.counts({ queue: 'default' })).toEqual(
    counts({ completed: 4, failed: 1, scheduled: 1 }),
  )
  expect(await engine.tasks.counts({ queue: 'limited' })).toEqual(counts({ completed: 3 }))
  await place.until(
    'an occurrence of the schedule',
    async () => (await engine.tasks.counts({ queue: 'often' })).completed > 0,
  )
  expect((await engine.tasks.list({ status: 'failed' })).items).toHaveLength(1)
  expect(await engine.tasks.cancel(later.id)).toBe(true)
  await engine.tasks.remove(later.id)
  await engine.tasks.retry(handles[2]!.id)
  await expect(handles[2]!.result()).rejects.toThrow('never')

  expect(seen).toContainEqual(expect.objectContaining({ id: 1, at: WHEN, part: FRACTION, bytes: BYTES }))
  expect(await engine.discoveries.row('files', '3')).toMatchObject({ state: 'quarantined' })
  expect(await engine.discoveries.stats('files')).toMatchObject({ waiting: 0, quarantined: 1 })
  expect((await engine.maintenance.prune({ completed: 0 })).removed).toBeGreaterThan(0)
  expect(await engine.maintenance.check()).toEqual([])
  await engine.maintenance.optimize()
}
