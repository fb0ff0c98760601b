import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Gleaner, openGleaner } from '../../src/index.ts'
import { Child } from '../journeys/child.ts'
import { until } from '../until.ts'
import { holdBackground } from './background.ts'
import { gapOf } from './gaps.ts'
import { type Ground, read } from './ground/ground.ts'
import { PostgresGround } from './ground/postgres.ts'
import { flawsOf } from './ground/soundness.ts'
import { Cluster, FORGETFUL } from './server/cluster.ts'
import { type KillPoint, MessageProxy, type Moment, nameOf } from './server/message-proxy.ts'
import { gated, type Promised, SERVER_OPERATIONS, type ServerOperation } from './server/operations.ts'
import { discoveries, PICTURES } from './server/work.ts'
import { EFFECTS, held, tasks, withLimited } from './tasks.ts'

const HOLDER = join(import.meta.dirname, 'programs/holder.ts')

/** `npm run torture` kills at every point, in both ways; here at some. */
const { GLEANER_TORTURE, GLEANER_POINTS } = process.env
const EVERY_POINT = GLEANER_TORTURE !== undefined
/** Of each operation, spread over all of its points. */
const POINTS_MAX = Number(GLEANER_POINTS ?? Number.POSITIVE_INFINITY)

/** Hundreds of deaths of a server take some seconds each, and minutes on a busy machine. */
const HOUR_MS = 3_600_000

const KINDS = ['server', 'backend'] as const
type Kind = (typeof KINDS)[number]
const TOGETHER: readonly Moment[] = ['before', 'within', 'unanswered']
/** Behind the last step, while everything rests. */
const WHEN_OVER: KillPoint = { gap: null, moment: 'before' }
const ALONE: readonly Moment[] = ['before', 'unanswered']

/** Completed tasks of the kinds that write an effect. */
const WITH_EFFECT = `SELECT t.id FROM gleaner.tasks t JOIN gleaner.lanes l ON l.id = t.lane
  WHERE l.name IN ('effect', 'held', 'limited') AND t.status = 'completed' ORDER BY t.id`
const UNFINISHED = `SELECT id FROM gleaner.tasks WHERE status NOT IN ('completed', 'failed', 'cancelled')
  UNION ALL SELECT id FROM pictures WHERE todo = 1`
/** An effect that is written twice is an error of its attempt. */
const TWICE = `SELECT error FROM gleaner.attempts WHERE error LIKE '%duplicate key%'
  UNION ALL SELECT error::text FROM gleaner.ledger WHERE error::text LIKE '%duplicate key%'`

let cluster: Cluster
let proxy: MessageProxy
let kills = 0
/** Points that no try came to: workers do several things at once. */
let missed = 0
/** Of each point: a try that does not come to it is a death when the operation is over. */
const TRIES_MAX = 3

beforeAll(async () => {
  cluster = await Cluster.start({ settings: [...FORGETFUL, 'autovacuum=off'] })
  proxy = await MessageProxy.before(cluster.port)
  holdBackground(() => proxy.isCounting)
})
afterAll(async () => {
  console.log(`${kills} deaths of the server, ${missed} named points were never met`)
  await proxy.close()
  await cluster.remove()
})

const operations = SERVER_OPERATIONS.filter(({ short }) => EVERY_POINT || short !== undefined)

for (const operation of operations) {
  const title = `nothing is lost or stuck when the server dies at any point of ${operation.name}`
  test(title, { timeout: EVERY_POINT ? 6 * HOUR_MS : HOUR_MS / 2 }, async () => {
    const ground = await PostgresGround.fresh(cluster.url)
    onTestFinished(() => ground.clear())
    await prepare(ground, operation)
    const points = pointsOf(operation, await dryRun(operation, ground))
    expect(points.length).toBeGreaterThan(0)
    for (const { kind, ...point } of points) {
      proxy.kill = (backend) => killServer(kind, backend)
      let isMet = false
      for (let tries = 0; tries < TRIES_MAX && !isMet; tries++) {
        const copy = await ground.copy()
        isMet = await killAt(operation, copy, point, kind)
        await copy.clear()
      }
      if (!isMet) missed += 1
    }
  })
}

async function killServer(kind: Kind, backend: number): Promise<void> {
  kills += 1
  if (kind === 'backend') {
    await cluster.killBackend(backend)
    return cluster.recovered()
  }
  await cluster.kill()
  await cluster.start()
}

/** The database as it is before the operation, to be copied for each death. */
async function prepare(ground: Ground, operation: ServerOperation): Promise<void> {
  const { prepare, rows = 0, leftBehind = [] } = operation
  for (const sql of [EFFECTS, ...PICTURES]) await ground.rows(sql)
  await ground.rows(`INSERT INTO pictures SELECT n, 1 FROM generate_series(1, ${rows}) n`)
  const gleaner = await opened(operation, ground.database)
  await prepare?.(gleaner)
  await leaveBehind(gleaner, ground, leftBehind)
  await gleaner.close()
  await ground.deserted()
}

async function leaveBehind(gleaner: Gleaner, { database }: Ground, counts: readonly number[]): Promise<void> {
  const holders: Child[] = []
  for (const concurrency of counts) {
    await gleaner.enqueueMany(held, Array(concurrency).fill(undefined))
    const holder = new Child(HOLDER, { database, concurrency })
    holders.push(holder)
    await holder.hears('running', () => holder.all('running').length === concurrency)
  }
  await Promise.all(holders.map((holder) => holder.kill()))
}

async function opened(
  { rows, limited }: ServerOperation,
  database: string,
  timings: ServerOperation['timings'] = { sweep: '1h' },
): Promise<Gleaner> {
  const known = limited ? withLimited : [...tasks, gated]
  const work = rows === undefined ? { tasks: known } : { discoveries }
  const gleaner = await openGleaner({ database, ...work, timings })
  gleaner.on('problem', () => {})
  return gleaner
}

/** Its database, with the proxy before the server. */
function throughProxy(ground: Ground): string {
  return Object.assign(new URL(ground.database), { port: String(proxy.port) }).href
}

/** The steps of the operation, in order: what can be killed between is found out, not listed by hand. */
async function dryRun(operation: ServerOperation, template: Ground): Promise<string[][]> {
  const ground = await template.copy()
  await staged(operation, ground)
  const steps = [...proxy.steps]
  await ground.clear()
  return steps
}

/** Runs the operation and lets everything come to its end. */
async function staged(operation: ServerOperation, ground: Ground, point?: KillPoint): Promise<Promised[]> {
  const database = throughProxy(ground)
  const gleaner = await opened(operation, database, operation.timings)
  const promised: Promised[] = []
  proxy.reset()
  let begun = false
  let worker: ReturnType<Gleaner['work']> | undefined
  const die = async () => {
    proxy.end()
    if (point !== undefined && proxy.killed === undefined) proxy.strike(await anyBackend())
    await proxy.killed
  }
  try {
    await operation.run({
      gleaner,
      database,
      begin() {
        if (!begun) proxy.begin(point)
        begun = true
      },
      end: () => proxy.end(),
      acknowledge: (promise) => promised.push(promise),
      die,
      sync: () => cluster.sync(),
      work(options) {
        worker = gleaner.work(options)
        return worker
      },
    })
    await die()
    worker ??= gleaner.work({ concurrency: 4 })
    await until('everything has ended', async () => (await ground.rows(UNFINISHED)).length === 0, 30_000)
    await worker.drained({ includeDelayed: true })
    expect(await gleaner.maintenance.check()).toEqual([])
  } finally {
    proxy.end()
    await gleaner.close()
  }
  return promised
}

async function anyBackend(): Promise<number> {
  const [row] = await cluster.rows(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'gleaner' AND backend_type = 'client backend' LIMIT 1`,
  )
  return row!.pid
}

/** A worker goes round and round: between the same two steps once. */
function pointsOf(
  { short = [] }: ServerOperation,
  steps: readonly string[][],
): (KillPoint & { kind: Kind })[] {
  const names = steps.map(nameOf)
  const all = steps.flatMap((sql, index) => {
    const gap = gapOf(names, index + 1)
    if (gap.nth > 1) return []
    const moments = sql.length === 1 ? ALONE : TOGETHER
    return moments.flatMap((moment) => KINDS.map((kind) => ({ gap, moment, kind })))
  })
  const over = KINDS.map((kind) => ({ ...WHEN_OVER, kind }))
  const every = Math.max(1, Math.ceil(all.length / POINTS_MAX))
  // Both kinds alternate in the list: each of them has its turn.
  if (EVERY_POINT) return [...all.filter((_, n) => (n + Math.floor(n / every)) % every === 0), ...over]
  return short.map((place) => (place === 'over' ? over[0]! : all[Math.floor(place * all.length)]!))
}

/** False: the server died only when the operation was over, because it did not come to the point. */
async function killAt(
  operation: ServerOperation,
  ground: Ground,
  point: KillPoint,
  kind: Kind,
): Promise<boolean> {
  const { gap, moment } = point
  const step = gap === null ? '(the end)' : `${gap.next} for the ${gap.nth}. time after ${gap.before}`
  const where = `${kind} killed: ${moment} ${step}`
  const promised = await staged(operation, ground, point).catch((error) => {
    throw new Error(`${where}: ${error.message}`, { cause: error })
  })
  const isMet = gap === null || proxy.isMet
  await expectKept(ground, promised, where)
  expect(await flawsOf(ground), where).toEqual([])
  expect(
    await ground.rows('SELECT id, session, fence FROM gleaner.tasks WHERE fence IS NOT NULL'),
    where,
  ).toEqual([])
  expect(await ground.rows('SELECT * FROM gleaner.claims'), where).toEqual([])
  expect(await ground.rows(TWICE), where).toEqual([])
  expect(await read(ground, 'SELECT task FROM effects ORDER BY task'), where).toEqual(
    await read(ground, WITH_EFFECT),
  )
  expect(await read(ground, 'SELECT picture FROM picture_effects ORDER BY picture'), where).toEqual(
    await read(ground, 'SELECT id FROM pictures WHERE id % 2 = 0 ORDER BY id'),
  )
  return isMet
}

async function expectKept(ground: Ground, promised: readonly Promised[], where: string): Promise<void> {
  const rows = await ground.rows('SELECT id, status FROM gleaner.tasks')
  const statuses = new Map(rows.map(({ id, status }) => [String(id), status]))
  for (const { exists = [], status = {} } of promised) {
    for (const id of exists) expect(statuses.get(id) ?? 'gone', where).not.toBe('gone')
    for (const [id, wanted] of Object.entries(status)) expect(statuses.get(id) ?? 'gone', where).toBe(wanted)
  }
}
