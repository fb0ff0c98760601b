import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect } from 'vitest'
import { openGleaner } from '../../src/index.ts'
import { Child, type Said } from '../journeys/child.ts'
import { type Place, test } from '../journeys/place.ts'
import { OPERATIONS, type Operation } from './operations.ts'
import { flawsOf } from './soundness.ts'
import { EFFECTS, plain, tasks } from './tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const PRELOAD = join(import.meta.dirname, 'kill-point.ts')

/** At a time: a child's start is most of a point's cost, and is not bound by one core alone. */
const LANES = 3

/** `npm run torture` kills at every gap. Here those behind a mere read are left out: nothing has changed there. */
const EVERY_GAP = process.env.GLEANER_TORTURE !== undefined

/** Completed tasks of the kinds that write an effect. */
const WITH_EFFECT = `SELECT t.id FROM gleaner_tasks t JOIN gleaner_lanes l ON l.id = t.lane
  WHERE l.name IN ('effect', 'held') AND t.status = 'completed' ORDER BY t.id`

let kills = 0
afterAll(() => console.log(`${kills} kills at named points`))

describe('killed at any point of', () => {
  for (const operation of OPERATIONS) {
    test(operation.name, { timeout: 240_000 }, async ({ place }) => {
      const template = await prepared(place, operation)
      const steps = await dryRun(place, operation, template)
      const points = pointsOf(steps)
      expect(points.length).toBeGreaterThan(2)
      const queue = points.values()
      await Promise.all(
        Array.from({ length: LANES }, async () => {
          for (const point of queue) await killAt(place, operation, template, steps, point)
        }),
      )
    })
  }
})

/** A database as it is before the operation, to be copied for each kill. */
async function prepared(place: Place, { prepare, leftBehind = [] }: Operation): Promise<string | undefined> {
  if (prepare === undefined) return undefined
  const template = join(place.folder, 'template.db')
  const gleaner = await openGleaner({ database: `sqlite:${template}`, tasks })
  await prepare(gleaner)
  await gleaner.close()
  // Killed together: the start of one would repair what another left behind.
  const holders: Child[] = []
  for (const { concurrency, tasks: count } of leftBehind) {
    const argument = { database: `sqlite:${template}`, concurrency }
    const holder = place.keep(new Child(join(PROGRAMS, 'holder.ts'), argument))
    holders.push(holder)
    for (let n = 0; n < count; n++) await holder.hears('running', () => holder.all('running').length > n)
  }
  await Promise.all(holders.map((holder) => holder.kill()))
  const db = new Database(template)
  db.exec(EFFECTS)
  // Closing the last connection brings everything into the one file.
  db.close()
  return template
}

function start(place: Place, operation: Operation, template: string | undefined, at?: number) {
  const file = join(place.folder, `${at ?? 'dry'}.db`)
  if (template !== undefined) copyFileSync(template, file)
  const child = place.keep(
    new Child(
      join(PROGRAMS, 'operation.ts'),
      { name: operation.name, database: `sqlite:${file}` },
      {
        NODE_OPTIONS: `--import ${PRELOAD}`,
        GLEANER_KILL_POINT: JSON.stringify({ thread: operation.thread ?? 'main', at }),
      },
    ),
  )
  return { file, child }
}

/** The statements of the operation, in order: what can be killed between is found out, not listed by hand. */
async function dryRun(place: Place, operation: Operation, template: string | undefined): Promise<string[]> {
  const { file, child } = start(place, operation, template)
  const steps = () => child.all('step').map(({ sql }) => sql as string)
  if (operation.thread === 'keeper') {
    // A renewal, and the first step of the next.
    await child.hears('step', ({ sql }) => sql === 'COMMIT')
    await child.next('step')
    await child.kill()
    return steps()
  }
  expect(await child.ended, child.errors).toEqual({ code: 0, signal: null })
  expect(flawsOf(file)).toEqual([])
  return steps()
}

function pointsOf(steps: string[]): number[] {
  const numbers = steps.map((_, index) => index + 1)
  if (EVERY_GAP) return numbers
  return numbers.filter((number) => number === 1 || !isRead(steps[number - 2]!))
}

function isRead(sql: string): boolean {
  return /^\s*(SELECT|PRAGMA)/.test(sql)
}

async function killAt(
  place: Place,
  operation: Operation,
  template: string | undefined,
  steps: string[],
  at: number,
): Promise<void> {
  const point = `killed at ${at} of ${steps.length}, before ${steps[at - 1]}`
  const { file, child } = start(place, operation, template, at)
  const ended = await child.ended
  // With timers a run may be shorter than the first was: a run without a kill then, which must be sound, too.
  if (operation.varies && ended.code === 0) expect(child.all('survived'), point).toHaveLength(1)
  else expect(ended.signal, `${point}: ${child.errors}`).toBe('SIGKILL')
  kills += 1
  expect(flawsOf(file), point).toEqual([])
  const before = countTasks(template)
  const after = countTasks(file)
  if (operation.name.startsWith('enqueueMany')) expect([before, before + 3], point).toContain(after)
  await expectPromisesKept(file, child.all('acknowledged'), point)
  await expectToEnd(file, point)
  const { sql, rows } = operation.afterwards ?? { sql: 'SELECT 1', rows: [1] }
  expect(read(file, sql), point).toEqual(rows)
}

/** None, when there is no database yet, or no table in it. */
function countTasks(file: string | undefined): number {
  if (
    file === undefined ||
    read(file, `SELECT 1 FROM sqlite_schema WHERE name = 'gleaner_tasks'`).length === 0
  )
    return 0
  return read(file, 'SELECT count(*) FROM gleaner_tasks')[0] as number
}

async function expectPromisesKept(file: string, acknowledged: Said[], point: string): Promise<void> {
  if (acknowledged.length === 0) return
  const gleaner = await openGleaner({ database: `sqlite:${file}`, tasks })
  for (const { exists = [], status = {}, paused } of acknowledged) {
    for (const id of exists) expect(await gleaner.tasks.get(id), point).not.toBeNull()
    for (const [id, wanted] of Object.entries(status)) {
      expect((await gleaner.tasks.get(id))?.status ?? 'gone', point).toBe(wanted)
    }
    if (paused)
      expect(
        (await gleaner.queues.list()).every((queue) => queue.paused),
        point,
      ).toBe(true)
  }
  await gleaner.close()
}

/** Whatever was left is picked up by the next one who comes, and ends as if nothing had happened. */
async function expectToEnd(file: string, point: string): Promise<void> {
  new Database(file).exec(EFFECTS).close()
  const gleaner = await openGleaner({ database: `sqlite:${file}`, tasks, timings: { sweep: '10ms' } })
  await gleaner.resume()
  // A new one beside the old: the queue is not blocked by anything.
  const fresh = await gleaner.enqueue(plain, 'fresh')
  const worker = gleaner.work({ concurrency: 4 })
  for (const { id, status } of await unfinished(gleaner)) {
    await gleaner
      .handle(plain, id)
      .result({ timeout: '30s' })
      .catch((error) => expect.fail(`${point}: ${status} task ${id}: ${error.message}`))
  }
  await fresh.result()
  await worker.drained({ includeDelayed: true })
  const counts = await gleaner.tasks.counts()
  await gleaner.close()
  expect(counts, point).toMatchObject({ scheduled: 0, queued: 0, running: 0, failed: 0 })
  expect(flawsOf(file), point).toEqual([])
  expect(read(file, 'SELECT task FROM effects ORDER BY task'), point).toEqual(read(file, WITH_EFFECT))
}

async function unfinished(gleaner: Awaited<ReturnType<typeof openGleaner>>) {
  const pages = await Promise.all(
    (['scheduled', 'queued', 'running'] as const).map((status) => gleaner.tasks.list({ status, limit: 20 })),
  )
  return pages.flatMap(({ items }) => items)
}

function read(file: string, sql: string): unknown[] {
  const db = new Database(file)
  try {
    return db.prepare(sql).pluck().all()
  } finally {
    db.close()
  }
}
