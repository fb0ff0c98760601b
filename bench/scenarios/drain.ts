import { type ContenderName, labelOf } from '../contenders/contender.ts'
import type { DrainResult, Handler } from '../roles/drain.ts'
import type { Runner } from './lineup.ts'
import type { Bench, Entry, Metric, Sample, Stock, Target } from './scenario.ts'

export const RSS: Metric = { key: 'rssMb', label: 'worker memory after it', unit: 'MB' }
export const LEAST_SHARE: Metric = {
  key: 'leastShare',
  label: 'least busy ÷ busiest process',
  unit: 'share',
}
export const ERRORS: Metric = { key: 'errors', label: 'errors that reached the user', unit: 'count' }

const QUICK_TASKS = 300

/** Whoever is not done by then is stopped, and the rate is that of the tasks it finished. */
export const DRAIN_LIMIT_MS = 60_000
export const QUICK_LIMIT_MS = 3000

export function drainEntry(bench: Bench, { contender, tasks, note, roundsMax }: Runner): Entry {
  return {
    label: labelOf(contender),
    contender,
    note,
    roundsMax,
    measure: () => drainOf(bench, { contender }, { tasks }),
  }
}

/** One call for so many tasks, beside the contender that claims and completes as many at once in SQL of its own. */
export function batchEntries(bench: Bench, [gleaner, raw]: readonly Runner[]): Entry[] {
  const measure = (concurrency: number) =>
    drainOf(bench, { contender: gleaner!.contender }, { tasks: gleaner!.tasks, concurrency, batch: BATCH })
  return [
    drainEntry(bench, raw!),
    { ...drainEntry(bench, gleaner!), label: 'gleaner', measure: () => measure(1) },
    { ...drainEntry(bench, gleaner!), label: 'gleaner, 4 calls at a time', measure: () => measure(4) },
  ]
}

const BATCH = 100

export const BATCH_TARGET: Target = {
  level: 'reach',
  text: '≥ 0.8 × raw claim-and-complete in batches of 100',
  entry: 'gleaner',
  metric: 'perSecond',
  relativeTo: 'raw',
  atLeast: 0.8,
}

/** The same tasks, shared by so many processes that start together. */
export function sharedDrainEntry(bench: Bench, runner: Runner, processes: number): Entry {
  const { contender, tasks } = runner
  return {
    ...drainEntry(bench, runner),
    label: `${labelOf(contender)} × ${processes}`,
    measure: () => drainOf(bench, { contender }, { processes, tasks }),
  }
}

export function fairShareTarget(processes: number): Target {
  return {
    level: 'reach',
    text: `${processes} processes: least busy ≥ half of the busiest`,
    entry: `gleaner × ${processes}`,
    metric: LEAST_SHARE.key,
    atLeast: 0.5,
  }
}

export interface Drain {
  processes?: number
  tasks: number
  handler?: Handler
  concurrency?: number
  batch?: number
}

/** Works off so many waiting tasks, that such a queue is filled with. */
export function drainOf(
  bench: Bench,
  queue: Omit<Stock, 'stock'>,
  { processes = 1, tasks, handler, concurrency, batch }: Drain,
): Promise<Sample> {
  const { contender, limits, spread } = queue
  const count = bench.size(tasks, QUICK_TASKS)
  const limitMs = bench.size(DRAIN_LIMIT_MS, QUICK_LIMIT_MS)
  return bench.withStock({ ...queue, stock: [{ state: 'waiting', count }] }, async (place) => {
    const workers = Array.from({ length: processes }, () =>
      bench.start('drain', { contender, place, limitMs, limits, spread, handler, concurrency, batch }),
    )
    try {
      await Promise.all(workers.map((worker) => worker.hear('ready')))
      for (const worker of workers) worker.tell('go')
      return summarize(contender, count, await Promise.all(workers.map((worker) => worker.result())))
    } finally {
      for (const worker of workers) worker.kill()
    }
  })
}

function summarize(contender: ContenderName, count: number, results: readonly DrainResult[]): Sample {
  const ran = results.map((result) => result.ran)
  const total = ran.reduce((sum, one) => sum + one, 0)
  const elapsedMs =
    Math.max(...results.map((result) => result.endedMs)) -
    Math.min(...results.map((result) => result.startedMs))
  if (labelOf(contender) === 'gleaner' && total !== count)
    throw new Error(`${count} tasks, but ${total} runs: ${ran.join(', ')}`)
  return {
    perSecond: (total / elapsedMs) * 1000,
    rssMb: Math.max(...results.map((result) => result.rssMb)),
    firstMs: Math.min(...results.map((result) => result.firstAfterMs)),
    leastShare: Math.min(...ran) / Math.max(...ran),
    ...(results.every((result) => result.errors) && { errors: errorsIn(results) }),
  }
}

function errorsIn(results: readonly DrainResult[]): number {
  return results.reduce((sum, result) => sum + (result.errors?.length ?? 0), 0)
}
