import { join } from 'node:path'
import { afterAll, describe, expect, inject, onTestFinished } from 'vitest'
import { openGleaner } from '../../src/index.ts'
import { Child, type Said } from '../journeys/child.ts'
import { type Place, test } from '../journeys/place.ts'
import { quickStart } from '../quick-start/environment.ts'
import { gapOf } from './gaps.ts'
import { BOTH } from './ground/both.ts'
import { countTasks, type Ground, read } from './ground/ground.ts'
import { PostgresGround } from './ground/postgres.ts'
import { flawsOf } from './ground/soundness.ts'
import { SqliteGround } from './ground/sqlite.ts'
import type { Plan } from './kill-point.ts'
import { OPERATIONS, type Operation } from './operations.ts'
import { type Library, using } from './programs/library.ts'
import { EFFECTS, plain, tasks, withLimited } from './tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const PRELOAD = join(import.meta.dirname, 'kill-point.ts')

/** At a time: a child's start is most of a point's cost, and is not bound by one core alone. */
const LANES = 3

/** `npm run torture` and `npm run guards` kill at every gap; here at some where it can make a difference. */
const { GLEANER_TORTURE, GLEANER_EVERY_GAP } = process.env
const EVERY_GAP = (GLEANER_TORTURE ?? GLEANER_EVERY_GAP) !== undefined

/** Completed tasks of the kinds that write an effect. */
const WITH_EFFECT = `SELECT t.id FROM gleaner.tasks t JOIN gleaner.lanes l ON l.id = t.lane
  WHERE l.name IN ('effect', 'held', 'limited', 'stepped', 'waiting') AND t.status = 'completed' ORDER BY t.id`

/** On the other SQLite library the short form kills where the libraries could differ: tables, large values, transactions, threads. */
const CORE = /^(opening a new database|enqueueMany|ctx\.complete|renewing|pruning)/
const POINTS_OF_CORE = 2

interface Setting {
  database: string
  open: () => Promise<Ground>
  /** What is killed uses it; what looks at the file and repairs it uses better-sqlite3. */
  library: Library
  operations: readonly Operation[]
}

type Tortured = Operation & Pick<Setting, 'library'>

const SETTINGS: readonly Setting[] = [
  ...BOTH.map(([database, open]) => ({
    database,
    open,
    library: 'better-sqlite3' as const,
    operations: OPERATIONS,
  })),
  {
    database: 'SQLite (node:sqlite)',
    open: async () => new SqliteGround(),
    library: 'node:sqlite',
    operations: EVERY_GAP
      ? OPERATIONS
      : OPERATIONS.filter(({ name }) => CORE.test(name)).map((one) => ({ ...one, some: POINTS_OF_CORE })),
  },
]

describe.each(SETTINGS)('on $database, killed at any point of', ({ database, open, library, operations }) => {
  let kills = 0
  let missed = 0
  afterAll(() => console.log(`${database}: ${kills} kills at named points, ${missed} that no run came to`))

  for (const asItIs of operations) {
    const operation = { ...asItIs, library }
    test(operation.name, { timeout: 600_000 }, async ({ place }) => {
      const ground = await open()
      onTestFinished(() => ground.clear())
      await prepare(place, ground, operation)
      const before = await countTasks(ground)
      const steps = await dryRun(place, operation, ground)
      const points = pointsOf(ground, operation, steps)
      expect(points.length).toBeGreaterThanOrEqual(2)
      const queue = points.values()
      let met = 0
      await Promise.all(
        Array.from({ length: LANES }, async () => {
          for (const number of queue) {
            if (await killAtLeastOnce(place, operation, ground, { before, steps, number })) met += 1
          }
        }),
      )
      kills += met
      missed += points.length - met
      // Otherwise the gaps have other names than the steps, and no run is killed.
      expect(met).toBeGreaterThan(points.length / 2)
    })
  }
})

/** The sums of the counters are then due, which every process writes down every two seconds. */
const STALL_MS = 2_500

test('what is killed between does not depend on how fast the machine is', async ({ place }) => {
  const ground = await PostgresGround.fresh(inject('postgresUrl'))
  onTestFinished(() => ground.clear())
  const name = 'enqueuing the first tasks of two keys with a limit'
  const operation = { ...OPERATIONS.find((one) => one.name === name)!, library: 'better-sqlite3' as const }
  const [quick, slow] = await Promise.all([
    dryRun(place, operation, ground),
    dryRun(place, operation, ground, { stallMs: STALL_MS }),
  ])
  expect(slow).toEqual(quick)
})

/** The database as it is before the operation, to be copied for each kill. */
async function prepare(
  place: Place,
  ground: Ground,
  { prepare, leftBehind = [], limited, library }: Tortured,
): Promise<void> {
  if (prepare === undefined) return
  const { database } = ground
  const gleaner = await openGleaner({ database, tasks: limited ? withLimited : tasks })
  await prepare(gleaner)
  await gleaner.close()
  // Killed together: the start of one would repair what another left behind.
  const holders: Child[] = []
  for (const { concurrency, tasks: count } of leftBehind) {
    const argument = { database, concurrency }
    const holder = place.keep(new Child(join(PROGRAMS, 'holder.ts'), argument, using(library)))
    holders.push(holder)
    for (let n = 0; n < count; n++) await holder.hears('running', () => holder.all('running').length > n)
  }
  await Promise.all(holders.map((holder) => holder.kill()))
  await ground.deserted()
  await ground.rows(EFFECTS)
}

function start(
  place: Place,
  operation: Tortured,
  { database }: Ground,
  how: Omit<Plan, 'thread'> = {},
): Child {
  const plan: Plan = { thread: operation.thread ?? 'main', ...how }
  const env = {
    ...using(operation.library),
    ...quickStart(`--import ${PRELOAD}`),
    GLEANER_KILL_POINT: JSON.stringify(plan),
  }
  return place.keep(new Child(join(PROGRAMS, 'operation.ts'), { name: operation.name, database }, env))
}

/** The statements of the operation, in order: what can be killed between is found out, not listed by hand. */
async function dryRun(
  place: Place,
  operation: Tortured,
  template: Ground,
  how?: Pick<Plan, 'stallMs'>,
): Promise<string[]> {
  const ground = await template.copy()
  const child = start(place, operation, ground, how)
  if (operation.thread === 'keeper') {
    // A renewal, and the next as far as its write.
    const renews = ({ sql }: Said) => /^\s*UPDATE \S+sessions/.test(sql)
    await child.hears('step', renews)
    await child.next('step', renews)
    await child.kill()
    return stepsOf(child)
  }
  expect(await child.ended, child.errors).toEqual({ code: 0, signal: null })
  expect(await flawsOf(ground)).toEqual([])
  return stepsOf(child)
}

function stepsOf(child: Child): string[] {
  return child.all('step').map(({ sql }) => sql)
}

function pointsOf(ground: Ground, { varies, some }: Operation, steps: string[]): number[] {
  const numbers = steps.map((_, index) => index + 1)
  if (EVERY_GAP) return numbers
  const seen = new Set<string>()
  const telling = numbers.filter((number) => {
    const [before, next] = [steps[number - 2], steps[number - 1]!]
    if (before === undefined || number === steps.length) return true
    const gap = `${before}\n${next}`
    // A worker goes round and round: between the same two steps once.
    if (varies && seen.has(gap)) return false
    seen.add(gap)
    return ground.isTelling(before)
  })
  const most = some ?? ground.pointsMax
  const every = Math.max(1, Math.ceil(telling.length / most))
  return telling.filter((_, i) => i % every === 0)
}

interface KillPoint {
  /** How many tasks there are before the operation. */
  before: number
  steps: readonly string[]
  /** Killed before this step, from 1. */
  number: number
}

/** A run whose steps vary may not come to a gap; another one does. */
const TRIES_MAX = 5

async function killAtLeastOnce(
  place: Place,
  operation: Tortured,
  ground: Ground,
  point: KillPoint,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await killAt(place, operation, await ground.copy(), point)) return true
  }
  return false
}

/** False: it came to its end before, which only one may whose steps vary. */
async function killAt(
  place: Place,
  operation: Tortured,
  ground: Ground,
  { before, steps, number }: KillPoint,
): Promise<boolean> {
  const point = `killed at ${number} of ${steps.length}, before ${steps[number - 1]}`
  const child = start(place, operation, ground, { at: gapOf(steps, number) })
  const ended = await child.ended
  if (!operation.varies) expect(stepsOf(child), point).toEqual(steps.slice(0, number))
  // A run may never come to this gap: then it was not killed, and must be sound, too.
  if (operation.varies && ended.code === 0) expect(child.all('survived'), point).toHaveLength(1)
  else expect(ended.signal, `${point}: ${child.errors}`).toBe('SIGKILL')
  await ground.deserted()
  expect(await flawsOf(ground), point).toEqual([])
  if (operation.name.startsWith('enqueueMany')) {
    expect([before, before + 3], point).toContain(await countTasks(ground))
  }
  await expectPromisesKept(ground, child.all('acknowledged'), point)
  const signalled = child.all('acknowledged').flatMap(({ signalled = [] }) => signalled as string[])
  await expectToEnd(ground, { ...operation, signalled }, point)
  const { sql, rows } = operation.afterwards ?? { sql: 'SELECT 1', rows: [1] }
  expect(await read(ground, sql), point).toEqual(rows)
  await ground.clear()
  return ended.signal === 'SIGKILL'
}

async function expectPromisesKept({ database }: Ground, acknowledged: Said[], point: string): Promise<void> {
  if (acknowledged.length === 0) return
  const gleaner = await openGleaner({ database, tasks })
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
async function expectToEnd(
  ground: Ground,
  { limited, signalled }: Operation & { signalled: readonly string[] },
  point: string,
): Promise<void> {
  await ground.rows(EFFECTS)
  const known = limited ? withLimited : tasks
  const gleaner = await openGleaner({ database: ground.database, tasks: known, timings: { sweep: '10ms' } })
  await gleaner.resume()
  // A new one beside the old: the queue is not blocked by anything.
  const fresh = await gleaner.enqueue(plain, 'fresh')
  // Nothing else resumes a task whose signal was not yet stored. One whose signal was acknowledged must end without another.
  const resume = ({ id }: { id: string }) => {
    if (!signalled.includes(id)) void gleaner.signal(id, 'go', 1)
  }
  gleaner.on('suspended', resume)
  for (const task of (await gleaner.tasks.list({ status: 'suspended' })).items) resume(task)
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
  expect(counts, point).toMatchObject({ scheduled: 0, queued: 0, running: 0, suspended: 0, failed: 0 })
  expect(await flawsOf(ground), point).toEqual([])
  expect(await read(ground, 'SELECT task FROM effects ORDER BY task'), point).toEqual(
    await read(ground, WITH_EFFECT),
  )
}

async function unfinished(gleaner: Awaited<ReturnType<typeof openGleaner>>) {
  const pages = await Promise.all(
    (['scheduled', 'queued', 'running', 'suspended'] as const).map((status) =>
      gleaner.tasks.list({ status, limit: 20 }),
    ),
  )
  return pages.flatMap(({ items }) => items)
}
