import { type ContenderName, labelOf } from '../../contenders/contender.ts'
import { DRAIN_LIMIT_MS, QUICK_LIMIT_MS } from '../../scenarios/drain.ts'
import { type Bench, type Entry, PER_SECOND, type Sample, type Scenario } from '../../scenarios/scenario.ts'
import { percentile } from '../../statistics.ts'

const TASKS = 300_000
const HELD = 'a transaction held open'

export const heldTransaction: Scenario = {
  id: 'held-transaction',
  title: 'A transaction held open elsewhere while 300 000 tasks pass',
  meaning:
    'Another connection takes a snapshot (REPEATABLE READ) and keeps it while one process drains 300 000 tasks: nothing ' +
    'that is claimed or completed can be cleaned up, and the index of waiting tasks fills with dead entries. A claim is ' +
    'the statement with SKIP LOCKED that answered tasks, timed at the driver from the call to the answer; each ' +
    'contender claims in batches of its own size. A contender that is not done after a minute is stopped; the figures ' +
    'cover the claims until then.',
  metrics: [
    { key: 'claimP50Ms', label: 'claim, p50', unit: 'ms' },
    { key: 'claimP99Ms', label: 'claim, p99', unit: 'ms' },
    { key: 'claimMaxMs', label: 'slowest claim', unit: 'ms' },
    PER_SECOND,
  ],
  entries: (bench) => [
    entry(bench, 'gleaner', false),
    entry(bench, 'gleaner', true),
    { ...entry(bench, 'postgres/raw', true), roundsMax: 1 },
    { ...entry(bench, 'postgres/graphile-worker-batched', true), roundsMax: 1 },
    { ...entry(bench, 'postgres/pg-boss', true), roundsMax: 1 },
  ],
  targets: [
    {
      level: 'reach',
      text: 'claim p99 within 5 × of that without the transaction',
      entry: `gleaner, ${HELD}`,
      metric: 'claimP99Ms',
      relativeTo: 'gleaner',
      atMost: 5,
    },
  ],
}

function entry(bench: Bench, contender: ContenderName, held: boolean): Entry {
  return {
    label: held ? `${labelOf(contender)}, ${HELD}` : labelOf(contender),
    contender,
    measure: () => measure(bench, contender, held),
  }
}

function measure(bench: Bench, contender: ContenderName, held: boolean): Promise<Sample> {
  const count = bench.size(TASKS, 300)
  return bench.withStock({ contender, stock: [{ state: 'waiting', count }] }, async (place) => {
    const holder = held ? bench.start('hold-snapshot', { url: place }) : undefined
    try {
      await holder?.hear('held')
      return await drainWatched(bench, contender, place)
    } finally {
      holder?.kill()
    }
  })
}

async function drainWatched(bench: Bench, contender: ContenderName, place: string): Promise<Sample> {
  const limitMs = bench.size(DRAIN_LIMIT_MS, QUICK_LIMIT_MS)
  const worker = bench.start('drain-watched', { contender, place, limitMs })
  try {
    await worker.hear('ready')
    worker.tell('go')
    const { ran, startedMs, endedMs, claimsMs } = await worker.result()
    return {
      claimP50Ms: percentile(claimsMs, 0.5),
      claimP99Ms: percentile(claimsMs, 0.99),
      claimMaxMs: Math.max(...claimsMs),
      perSecond: (ran / (endedMs - startedMs)) * 1000,
    }
  } finally {
    worker.kill()
  }
}
