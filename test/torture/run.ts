import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { serverForTests } from '../postgres-server.ts'
import { backUpUnderLoad, backupSummary } from './backups.ts'
import type { Ground } from './ground/ground.ts'
import { PostgresGround } from './ground/postgres.ts'
import { SqliteGround } from './ground/sqlite.ts'
import { cutPowerOften, powerSummary } from './power/power.ts'
import type { Library } from './programs/library.ts'
import { brokenPromises, summary, torture } from './random-kills.ts'
import { keptItsRate, minuteOfARate } from './rates.ts'
import { brokenRowPromises, type RowTorture, rowSummary, tortureRows } from './row-kills.ts'
import { KINDS, sufferFaults } from './server/run-faults.ts'

// npm run torture [-- --database sqlite|postgres --sqlite <library> --only <part> --kind <fault> --kills <n> --states <n> --seed <n> --verbose]
const PARTS = [
  'founding',
  'supervisor',
  'http',
  'dashboard',
  'gaps',
  'kills',
  'backups',
  'power',
  'rate',
  'rows',
  'pulled',
  'flows',
  'signals',
  'server',
] as const
/** Ten thousand fuzzed requests, a crowd of listeners beside 50 000 completions, lists of a million tasks. */
const HTTP_PROOFS = ['hostile', 'crowd', 'large-lists'].map((name) => `test/http/${name}.test.ts`)
/** Of the throughput without poison. */
const SHARE_MIN = 0.8
const { values } = parseArgs({
  options: {
    database: { type: 'string' },
    sqlite: { type: 'string', default: 'better-sqlite3' },
    only: { type: 'string' },
    kind: { type: 'string' },
    kills: { type: 'string' },
    states: { type: 'string', default: '1000' },
    verbose: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const { database } = values
const kills = Number(values.kills ?? 300)
const seed = Number(values.seed)
if (database !== undefined && !['sqlite', 'postgres'].includes(database)) {
  console.error(`--database: "${database}" is none; use sqlite or postgres, or leave it away for both.`)
  process.exit(2)
}
if (!['better-sqlite3', 'node:sqlite'].includes(values.sqlite)) {
  console.error(`--sqlite: "${values.sqlite}" is none; use better-sqlite3 or node:sqlite.`)
  process.exit(2)
}
const library = values.sqlite as Library
// For the programs that are killed.
process.env.TORTURE_SQLITE = library
const { only } = values
if (only !== undefined && !PARTS.some((part) => part === only)) {
  console.error(`--only: there is no part "${only}"; there are ${PARTS.join(', ')}.`)
  process.exit(2)
}
const kind = KINDS.find((known) => known === values.kind)
if (values.kind !== undefined && kind === undefined) {
  console.error(`--kind: there is no fault "${values.kind}"; there are ${KINDS.join(', ')}.`)
  process.exit(2)
}
const isMeant = (part: (typeof PARTS)[number]) => only === undefined || only === part

if (database !== 'postgres') {
  if (isMeant('supervisor')) superviseForReal()
  if (isMeant('founding')) atFullLength('test/founding', '--testTimeout', '900000')
  if (isMeant('http')) atFullLength(...HTTP_PROOFS)
  if (isMeant('dashboard')) atFullLength('test/web/journeys.test.ts', '-t', 'with many tasks and rows')
  if (isMeant('gaps')) killBetweenSteps('SQLite')
  if (isMeant('kills')) await killAtRandom('SQLite', new SqliteGround())
  if (isMeant('backups')) await backUpEverySecond()
  if (isMeant('power')) await cutThePower()
  if (isMeant('rate')) await keepARate('SQLite', new SqliteGround())
  if (isMeant('rows')) await workOffRows('SQLite', async () => new SqliteGround())
}
if (isMeant('pulled')) {
  const on = database === undefined ? [] : ['-t', database === 'sqlite' ? 'on SQLite' : 'on PostgreSQL']
  atFullLength('test/torture/pulled.test.ts', ...on)
}
if (isMeant('flows')) {
  const on = database === undefined ? [] : ['-t', database === 'sqlite' ? 'SQLite' : 'PostgreSQL']
  atFullLength('test/torture/flows.test.ts', '--testTimeout', '7200000', ...on)
}
if (isMeant('signals')) {
  const on = database === undefined ? [] : ['-t', database === 'sqlite' ? 'on SQLite' : 'on PostgreSQL']
  atFullLength('test/torture/signals.test.ts', ...on)
}
if (database !== 'sqlite') {
  if (isMeant('gaps')) killBetweenSteps('PostgreSQL')
  const server = await serverForTests()
  try {
    if (isMeant('kills')) await killAtRandom('PostgreSQL', await PostgresGround.fresh(server.url))
    if (isMeant('rate')) await keepARate('PostgreSQL', await PostgresGround.fresh(server.url))
    if (isMeant('rows')) await workOffRows('PostgreSQL', () => PostgresGround.fresh(server.url))
  } finally {
    await server.stop()
  }
  if (isMeant('server')) await sufferServerFaults()
}

/** Of each kind so many as belong to it, or as `--kills` says; before, at as many points of each operation. */
async function sufferServerFaults(): Promise<void> {
  const count = values.kills === undefined ? undefined : Number(values.kills)
  if (kind === undefined) {
    if (values.kills !== undefined) process.env.GLEANER_POINTS = values.kills
    atFullLength('test/torture/server-kill-points.test.ts')
  }
  if (!(await sufferFaults({ kind, count, seed, verbose: values.verbose }))) process.exitCode = 1
}

async function keepARate(name: string, ground: Ground): Promise<void> {
  console.log(`${name}: a minute of a rate of 100 a second`)
  const minute = await minuteOfARate(ground)
  console.log(`${name}: ${minute.starts} starts, 101 of them within ${minute.closestMs} ms at the least`)
  if (!keptItsRate(minute)) process.exitCode = 1
}

/** Rows of a user's table, with kills from outside; then with poison at the head, beside what it takes without. */
async function workOffRows(name: string, fresh: () => Promise<Ground>): Promise<void> {
  const crew = { rows: 20_000, processes: 4, seed }
  const work = async (round: RowTorture) => {
    const { rows, poison, kills: killed } = round
    console.log(`${name}: ${rows} rows, ${poison} of them poison, ${killed} kills, seed ${seed}`)
    const bill = await tortureRows(await fresh(), round)
    console.log(`${name}: ${rowSummary(bill)}`)
    for (const broken of brokenRowPromises(bill, round)) {
      console.error(`${name}: ${broken}`)
      process.exitCode = 1
    }
    return bill
  }
  await work({ ...crew, concurrency: 4, poison: 0, kills: 40 })
  // Rows that take no time would only be compared with how long processes take to start.
  const slow = { ...crew, concurrency: 8, kills: 0, workMs: 40 }
  const clean = await work({ ...slow, poison: 0 })
  const poisoned = await work({ ...slow, poison: 100 })
  const share = poisoned.done / poisoned.goodMs / (clean.done / clean.goodMs)
  console.log(`${name}: with poison at the head ${share.toFixed(2)} of the throughput without`)
  if (share >= SHARE_MIN) return
  console.error(`${name}: that is less than ${SHARE_MIN}`)
  process.exitCode = 1
}

/** Worker processes: real lengths, and many kills. */
function superviseForReal(): void {
  const env = { ...process.env, GLEANER_TORTURE: '1' }
  const args = ['run', 'test/supervisor', 'test/process', '--testTimeout', '900000']
  if (spawnSync('vitest', args, { stdio: 'inherit', env }).status !== 0) process.exitCode = 1
}

/** Tests of the usual run whose lengths are real here; on both databases. */
function atFullLength(...what: string[]): void {
  const env = { ...process.env, GLEANER_TORTURE: '1' }
  const args = ['run', ...what, '--no-file-parallelism', '--disable-console-intercept']
  if (spawnSync('vitest', args, { stdio: 'inherit', env }).status !== 0) process.exitCode = 1
}

/** In every gap between two statements. */
function killBetweenSteps(name: string): void {
  const setting = name === 'SQLite' && library === 'node:sqlite' ? 'SQLite \\(node:sqlite\\)' : name
  const args = ['run', 'test/torture/kill-points.test.ts', '-t', `on ${setting}, `]
  if (name === 'SQLite') args.push('test/torture/backup-kills.test.ts')
  const env = { ...process.env, GLEANER_TORTURE: '1' }
  if (spawnSync('vitest', args, { stdio: 'inherit', env }).status !== 0) process.exitCode = 1
}

async function killAtRandom(name: string, ground: Ground): Promise<void> {
  console.log(`${name}: killing ${kills} times at random moments, seed ${seed}`)
  const damage = await torture(ground, {
    seed,
    kills,
    producers: 1,
    workers: 3,
    onKill: (count) => count % 50 === 0 && console.log(`${count} kills`),
  })
  console.log(`${name}: ${summary(damage)}`)
  if (brokenPromises(damage).length > 0) process.exitCode = 1
}

async function cutThePower(): Promise<void> {
  const states = Number(values.states)
  console.log(`SQLite: cutting the power ${states} times, seed ${seed}`)
  const cuts = await cutPowerOften({ seed, states }, (so) => console.log(powerSummary(so)))
  for (const broken of cuts.broken) console.error(`SQLite: ${broken}`)
  if (cuts.broken.length > 0) process.exitCode = 1
}

async function backUpEverySecond(): Promise<void> {
  console.log('SQLite: backing up every second for 30 s under load')
  const damage = await backUpUnderLoad({ library, backups: 30, everyMs: 1_000, producers: 2, workers: 2 })
  console.log(`SQLite: ${backupSummary(damage)}`)
  if (damage.broken.length > 0) process.exitCode = 1
}
