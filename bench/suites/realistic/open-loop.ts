import { setTimeout as sleep } from 'node:timers/promises'
import type { ContenderName } from '../../contenders/contender.ts'
import { SETTLE_MS } from '../../scenarios/pickup.ts'
import type { Bench, Entry, Sample, Scenario, Target } from '../../scenarios/scenario.ts'
import { percentile } from '../../statistics.ts'
import { ALL, shown } from '../peers.ts'

const RATES = [20, 100, 1_000, 5_000] as const
type Rate = (typeof RATES)[number]
/** The slower ones go on for longer, so that the slowest hundredth is made of something. */
const SECONDS: Record<Rate, number> = { 20: 15, 100: 10, 1000: 6, 5000: 4 }
/** At its start a worker opens connections and compiles what it runs. */
const WARM_UP_SHARE = 0.2
/** Those that look for work once a second answer within that, at any rate: shown once. */
const POLLING: readonly ContenderName[] = ['sqlite/plainjob', 'sqlite/liteque']
const LEFT_LIMIT_MS = 20_000

const P50 = { key: 'p50Ms', label: 'call to run, p50', unit: 'ms' } as const
const P99 = { key: 'p99Ms', label: 'call to run, p99', unit: 'ms' } as const

/** One scenario for each rate, so that the report has a table for each. */
export const openLoops: readonly Scenario[] = RATES.map((rate) => ({
  id: `open-loop-${rate}`,
  title: `${rate.toLocaleString('en')} tasks a second from another process`,
  meaning:
    `One process enqueues ${rate.toLocaleString('en')} tasks a second at full durability, evenly, whatever becomes of them; another ` +
    'runs them, and its handler does nothing. From the call of enqueue to the first line of the handler.',
  metrics: [P50, P99],
  entries: (bench: Bench) => contendersAt(rate).map((contender) => entry(bench, contender, rate)),
  targets: targetsAt(rate),
}))

function contendersAt(rate: Rate): readonly ContenderName[] {
  return ALL.filter((contender) => rate <= 100 || !POLLING.includes(contender))
}

function entry(bench: Bench, contender: ContenderName, rate: Rate): Entry {
  const roundsMax = POLLING.includes(contender) ? 1 : undefined
  return { label: shown(contender), contender, roundsMax, measure: () => measure(bench, contender, rate) }
}

function targetsAt(rate: Rate): Target[] {
  const own: Target[] =
    rate > 1_000 ? [] : [...absolute('sqlite/gleaner', 3, 10), ...absolute('postgres/gleaner', 4, 12)]
  const peers = ['postgres/graphile-worker', 'postgres/graphile-worker-batched', 'postgres/pg-boss'] as const
  return [...own, ...peers.map((peer) => notBehind(peer))]
}

function absolute(contender: ContenderName, p50Ms: number, p99Ms: number): Target[] {
  const target = (metric: string, name: string, atMost: number): Target => ({
    level: 'reach',
    text: `${shown(contender)}: ${name} ≤ ${atMost} ms`,
    entry: shown(contender),
    metric,
    atMost,
  })
  return [target(P50.key, 'p50', p50Ms), target(P99.key, 'p99', p99Ms)]
}

function notBehind(peer: ContenderName): Target {
  return {
    level: 'reach',
    text: `Gleaner on PostgreSQL: p50 not behind ${shown(peer)}`,
    entry: shown('postgres/gleaner'),
    metric: P50.key,
    relativeTo: shown(peer),
    atMost: 1,
  }
}

function measure(bench: Bench, contender: ContenderName, rate: Rate): Promise<Sample> {
  return bench.withFresh(contender, async (place) => {
    const worker = bench.start('work-steadily', { contender, place })
    try {
      await worker.hear('ready')
      const seconds = bench.size(SECONDS[rate], 1)
      const app = bench.start('send-steadily', { contender, place, perSecond: bench.size(rate, 20), seconds })
      try {
        await app.hear('ready')
        await sleep(bench.size(SETTLE_MS, 100))
        worker.tell('begin')
        app.tell('go')
        const { calledMs } = await app.result()
        worker.tell('await', calledMs.length)
        await Promise.race([worker.hear('all'), sleep(LEFT_LIMIT_MS, undefined, { ref: false })])
        worker.tell('end')
        const { ran } = await worker.result()
        return latencies(calledMs, ran)
      } finally {
        app.kill()
      }
    } finally {
      worker.kill()
    }
  })
}

function latencies(calledMs: readonly number[], ran: { n: number[]; atMs: number[] }): Sample {
  const warmUp = calledMs.length * WARM_UP_SHARE
  const waitedMs = ran.n.flatMap((n, index) => (n < warmUp ? [] : [ran.atMs[index]! - calledMs[n]!]))
  return { p50Ms: percentile(waitedMs, 0.5), p99Ms: percentile(waitedMs, 0.99) }
}
