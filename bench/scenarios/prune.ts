import { DRAIN_LIMIT_MS, QUICK_LIMIT_MS } from './drain.ts'
import { type Bench, type Entry, type Metric, PER_SECOND, type Sample, type Scenario } from './scenario.ts'

const TASKS = 300_000
const COMPLETED = 1_000_000

const KEPT = 'gleaner, a million completed kept'
const PRUNED = 'gleaner, they are pruned meanwhile'

/** What finished before that is past keeping: the million, and not yet what the drain completes. */
const KEEP_MS = 500

const PRUNED_PER_SECOND: Metric = { key: 'prunedPerSecond', label: 'pruned', unit: 'per second' }

/** On either database. */
export const pruneWhileDraining: Scenario = {
  id: 'prune',
  title: 'A million finished tasks are removed while others run',
  meaning:
    `How fast ${TASKS.toLocaleString('en')} tasks are drained beside a million completed ones: with those kept, and while ` +
    'the same process removes them in the background as its retention says.',
  metrics: [PER_SECOND, PRUNED_PER_SECOND],
  entries: (bench) => [entry(bench, KEPT, undefined), entry(bench, PRUNED, KEEP_MS)],
  targets: [
    {
      level: 'reach',
      text: 'pruning a million costs the drain less than 15 %',
      entry: PRUNED,
      metric: PER_SECOND.key,
      relativeTo: KEPT,
      atLeast: 0.85,
    },
  ],
}

function entry(bench: Bench, label: string, keepMs: number | undefined): Entry {
  return { label, contender: 'gleaner', measure: () => measure(bench, keepMs) }
}

function measure(bench: Bench, keepMs: number | undefined): Promise<Sample> {
  const completed = bench.size(COMPLETED, 20_000)
  const stock = [
    { state: 'completed', count: completed },
    { state: 'waiting', count: bench.size(TASKS, 5_000) },
  ] as const
  return bench.withStock({ contender: 'gleaner', stock }, async (place) => {
    const worker = bench.start('drain-pruning', {
      contender: 'gleaner',
      place,
      limitMs: bench.size(DRAIN_LIMIT_MS, QUICK_LIMIT_MS),
      completedBefore: completed,
      keepMs,
    })
    try {
      await worker.hear('ready')
      worker.tell('go')
      const { ran, startedMs, endedMs, pruned } = await worker.result()
      const seconds = (endedMs - startedMs) / 1000
      return { perSecond: ran / seconds, prunedPerSecond: pruned / seconds }
    } finally {
      worker.kill()
    }
  })
}
