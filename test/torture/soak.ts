import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as catalogue from '../../examples/quickstart/catalogue.ts'
import * as tasks from '../../examples/quickstart/tasks.ts'
import { type Gleaner, openGleaner } from '../../src/index.ts'
import { isRunning } from '../../src/process-identity.ts'
import { quickStart } from '../quick-start/environment.ts'
import { until } from '../until.ts'
import type { Ground } from './ground/ground.ts'
import { flawsOf } from './ground/soundness.ts'
import { flatness, Household, type Sample, type Spread } from './household.ts'
import { type Random, randomFrom } from './random.ts'

const PROGRAM = join(import.meta.dirname, '../../src/cli/bin.ts')
const CONFIG = join(import.meta.dirname, 'programs/soak-config.ts')
/** As the quickstart's config has it. */
const WORKERS = 3
/** Tasks that wait, at most: it is to last, not to fill a disk. */
const WAITING_MAX = 200
const DRAINED_WITHIN_MS = 180_000

export interface Soak {
  forMs: number
  /** Between two kills: anything up to twice as long. */
  killEveryMs: number
  sampleEveryMs: number
  seed: number
  onSample?: (sample: Sample) => void
  onKill?: () => void
}

export interface SoakBill {
  kills: number
  enqueued: number
  ended: number
  /** Unfinished when all was drained. */
  left: number
  samples: readonly Sample[]
  memory: Spread
  descriptors: Spread
  processes: Spread
  exitCode: number | null
  /** Processes that outlived their supervisor. */
  survivors: number[]
  complaints: string
  flaws: string[]
}

/** The quickstart, day in, day out: work comes and is done, workers are killed at random moments; then the bill. */
export async function soak(ground: Ground, options: Soak): Promise<SoakBill> {
  const { database } = ground
  await catalogue.stockUp(database)
  const gleaner = await openGleaner({
    database,
    tasks: Object.values(tasks),
    discoveries: [catalogue.describe(database)],
  })
  const starter = start(database)
  try {
    return await soaked(ground, gleaner, starter, options)
  } finally {
    starter.child.kill('SIGKILL')
    await gleaner.close()
  }
}

interface Starter {
  child: ChildProcess
  exited: Promise<unknown[]>
  complaints: () => string
}

/** `gleaner start`, which ends when its stdin does. */
function start(database: string): Starter {
  const args = [PROGRAM, 'start', '--attached', '--quiet', '--config', CONFIG]
  const env = { ...process.env, ...quickStart(), GLEANER_DATABASE: database }
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'pipe'] })
  let complaints = ''
  child.stdin.on('error', () => {})
  child.stderr.on('data', (chunk) => {
    complaints = `${complaints}${chunk}`.slice(-10_000)
  })
  return { child, exited: once(child, 'close'), complaints: () => complaints }
}

async function soaked(ground: Ground, gleaner: Gleaner, starter: Starter, options: Soak): Promise<SoakBill> {
  const household = new Household(starter.child.pid!)
  const random = randomFrom(options.seed)
  await until('all workers are there', () => household.workers().length === WORKERS)
  const over = new AbortController()
  const work = keepBusy(gleaner, ground.database, random, over.signal)
  const deaths = keepKilling(household, random, options, over.signal)
  const samples = await sampled(household, options)
  over.abort()
  const [enqueued, kills] = await Promise.all([work, deaths])
  await until('nothing is left', async () => (await unfinished(gleaner)) === 0, DRAINED_WITHIN_MS)
  const left = await unfinished(gleaner)
  await until('all workers are there again', () => household.workers().length === WORKERS)
  starter.child.stdin!.end()
  const [exitCode] = (await starter.exited) as [number | null]
  const seen = [...household.everSeen]
  await until('all of them are gone', () => !seen.some(isRunning)).catch(() => {})
  return {
    kills,
    enqueued,
    ended: enqueued - left,
    left,
    samples,
    memory: flatness(samples.map(({ rss }) => rss)),
    descriptors: flatness(samples.map((sample) => sample.descriptors)),
    processes: flatness(samples.map((sample) => sample.processes)),
    exitCode,
    survivors: seen.filter(isRunning),
    complaints: starter.complaints(),
    flaws: await flawsOf(ground),
  }
}

/** Some of each kind, whenever there is room; and products that need a text again. */
async function keepBusy(
  gleaner: Gleaner,
  database: string,
  random: Random,
  over: AbortSignal,
): Promise<number> {
  let enqueued = 0
  for (let round = 0; !over.aborted; round++) {
    if (round % 20 === 0) await catalogue.stockUp(database)
    if ((await unfinished(gleaner)) < WAITING_MAX) enqueued += await enqueueSome(gleaner, random)
    await sleep(200, undefined, { signal: over }).catch(() => {})
  }
  return enqueued
}

async function enqueueSome(gleaner: Gleaner, random: Random): Promise<number> {
  const number = random.integer(0, 100)
  const to = `customer-${number}@example.org`
  await gleaner.enqueueMany(tasks.mail, Array(10).fill({ number, to }))
  await gleaner.enqueue(tasks.webhook, { number })
  await gleaner.enqueue(tasks.charge, { number }, { priority: 10 })
  await gleaner.enqueue(tasks.report, { number }, { runAfter: random.integer(0, 2_000) })
  if (random.integer(0, 4) === 0) {
    await gleaner.enqueue(tasks.resize, { number })
    return 14
  }
  return 13
}

async function unfinished(gleaner: Gleaner): Promise<number> {
  const { scheduled, queued, running } = await gleaner.tasks.counts()
  return scheduled + queued + running
}

async function keepKilling(
  household: Household,
  random: Random,
  { killEveryMs, onKill }: Soak,
  over: AbortSignal,
): Promise<number> {
  let kills = 0
  while (!over.aborted) {
    await sleep(random.integer(1, killEveryMs * 2), undefined, { signal: over }).catch(() => {})
    const workers = household.workers()
    if (over.aborted || workers.length === 0) continue
    process.kill(random.pick(workers), 'SIGKILL')
    kills += 1
    onKill?.()
  }
  return kills
}

async function sampled(household: Household, options: Soak): Promise<Sample[]> {
  const samples: Sample[] = []
  const untilMs = performance.now() + options.forMs
  while (performance.now() < untilMs) {
    await sleep(options.sampleEveryMs)
    const sample = household.sample()
    samples.push(sample)
    options.onSample?.(sample)
  }
  return samples
}

export function soakSummary(bill: SoakBill): string {
  const { kills, enqueued, ended, samples, memory, descriptors, processes } = bill
  const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  return [
    `${kills} kills, ${enqueued} tasks enqueued, ${ended} ended, ${samples.length} samples of the supervisor:`,
    `memory ${mb(memory.early)} early, ${mb(memory.late)} late, ${mb(memory.most)} at most;`,
    `descriptors ${descriptors.early}, ${descriptors.late}, ${descriptors.most};`,
    `processes ${processes.early}, ${processes.late}, ${processes.most}`,
  ].join(' ')
}

/** What may differ: a heap that is still finding its size, and pipes of processes that are just being replaced. */
const GROWTH = { bytes: 30e6, descriptors: 4, processes: 1 }

export function brokenSoakPromises(bill: SoakBill): string[] {
  const { memory, descriptors, processes } = bill
  const says = (isBroken: boolean, what: string) => (isBroken ? [what] : [])
  return [
    ...says(memory.late - memory.early > GROWTH.bytes, 'memory grows'),
    ...says(descriptors.late - descriptors.early > GROWTH.descriptors, 'descriptors are left open'),
    ...says(processes.late - processes.early > GROWTH.processes, 'processes are left over'),
    ...says(processes.most > 2 * WORKERS + 1, `${processes.most} processes at once`),
    ...says(bill.left > 0, `${bill.left} tasks never ended`),
    ...says(bill.exitCode !== 0, `gleaner start ended with ${bill.exitCode}: ${bill.complaints}`),
    ...says(bill.survivors.length > 0, `still there: ${bill.survivors}`),
    ...bill.flaws,
  ]
}
