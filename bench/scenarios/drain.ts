import type { ContenderName } from '../contenders/contender.ts'
import type { DrainResult } from '../roles/drain.ts'
import type { Bench, Entry, Metric, Sample, Scenario } from './scenario.ts'
import { sizeFor, sizeNote } from './sizes.ts'

const PER_SECOND: Metric = { key: 'perSecond', label: 'tasks', unit: 'per second' }
const RSS: Metric = { key: 'rssMb', label: 'worker memory after it', unit: 'MB' }
const LEAST_SHARE: Metric = { key: 'leastShare', label: 'least busy ÷ busiest process', unit: 'share' }
const ERRORS: Metric = { key: 'errors', label: 'errors that reached the user', unit: 'count' }

/** Whoever is not done by then is stopped, and the rate is that of the tasks it finished. */
const DRAIN_LIMIT_MS = 60_000

export const drainOneProcess: Scenario = {
  id: 'drain',
  title: 'Drain 50 000 tasks, one process',
  meaning:
    '50 000 waiting tasks, a no-op handler, until all are recorded as completed; claims and completions at NORMAL for ' +
    'everybody. The worker’s start is included. Raw: claims 100 with UPDATE … RETURNING, parses, awaits the handler, ' +
    'completes each row, and settles and claims in one transaction. Memory is the RSS of that fresh process at the end.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) =>
    (['gleaner', 'raw', 'plainjob', 'liteque', 'sidequest'] as const).map((contender) => ({
      label: contender,
      contender,
      note: sizeNote(contender),
      roundsMax: sizeNote(contender) ? 2 : undefined,
      measure: () => drain(bench, contender, 1, 50_000),
    })),
  targets: [
    {
      level: 'reach',
      text: '≥ 7 × plainjob',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'plainjob',
      atLeast: 7,
    },
    {
      level: 'reach',
      text: '≥ 0.5 × raw claim-and-complete in batches of 100',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.5,
    },
    {
      level: 'reach',
      text: 'worker memory after the drain ≤ 150 MB RSS',
      entry: 'gleaner',
      metric: 'rssMb',
      atMost: 150,
      over: 'every round',
    },
  ],
}

export const drainManyProcesses: Scenario = {
  id: 'drain-processes',
  title: 'Drain with 2 and 4 processes on one file',
  meaning:
    '300 000 waiting tasks (100 000 for the slower peers) shared by several processes that start together; the rate is the total. SQLite has one writer, so ' +
    'the aim is to lose nothing, to starve nobody and to show the user no SQLITE_BUSY.',
  metrics: [PER_SECOND, LEAST_SHARE, ERRORS],
  entries: (bench) => [
    ...[1, 2, 4].map((processes) => shared(bench, 'gleaner', processes)),
    ...[1, 2, 4].map((processes) => ({ ...shared(bench, 'raw', processes), roundsMax: 3 })),
    ...[1, 2, 4].map((processes) => ({ ...shared(bench, 'plainjob', processes), roundsMax: 1 })),
    ...[1, 2].map((processes) => ({ ...shared(bench, 'liteque', processes), roundsMax: 1 })),
    ...[1, 2].map((processes) => ({ ...shared(bench, 'sidequest', processes), roundsMax: 1 })),
  ],
  targets: [2, 4].flatMap((count) => [
    {
      level: 'reach',
      text: `${count} processes: ≥ 0.9 × one process`,
      entry: `gleaner × ${count}`,
      metric: 'perSecond',
      relativeTo: 'gleaner × 1',
      atLeast: 0.9,
    },
    {
      level: 'reach',
      text: `${count} processes: least busy ≥ half of the busiest`,
      entry: `gleaner × ${count}`,
      metric: 'leastShare',
      atLeast: 0.5,
    },
    {
      level: 'reach',
      text: `${count} processes: zero busy errors`,
      entry: `gleaner × ${count}`,
      metric: 'errors',
      atMost: 0,
      over: 'every round',
    },
  ]),
}

/** The fast ones get more, so that the start of four processes on two cores is not the subject. */
const SHARED_TASKS: Partial<Record<ContenderName, number>> = { gleaner: 300_000, raw: 300_000 }

function shared(bench: Bench, contender: ContenderName, processes: number): Entry {
  return {
    label: `${contender} × ${processes}`,
    contender,
    note: sizeNote(contender),
    measure: () => drain(bench, contender, processes, SHARED_TASKS[contender] ?? 100_000),
  }
}

function drain(bench: Bench, contender: ContenderName, processes: number, tasks: number): Promise<Sample> {
  const count = sizeFor(bench, contender, tasks, 300)
  const limitMs = bench.size(DRAIN_LIMIT_MS, 3000)
  return bench.withStock({ contender, stock: [{ state: 'waiting', count }] }, async (file) => {
    const workers = Array.from({ length: processes }, () =>
      bench.start('drain', { contender, file, limitMs }),
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
  if (contender === 'gleaner' && total !== count)
    throw new Error(`${count} tasks, but ${total} runs: ${ran.join(', ')}`)
  return {
    perSecond: (total / elapsedMs) * 1000,
    rssMb: Math.max(...results.map((result) => result.rssMb)),
    leastShare: Math.min(...ran) / Math.max(...ran),
    ...(results.every((result) => result.errors) && { errors: errorsIn(results) }),
  }
}

function errorsIn(results: readonly DrainResult[]): number {
  return results.reduce((sum, result) => sum + (result.errors?.length ?? 0), 0)
}
