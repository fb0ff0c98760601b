import type { ContenderName } from '../../contenders/contender.ts'
import type { DrainResult } from '../../roles/drain.ts'
import {
  type Bench,
  type Entry,
  PER_SECOND,
  type Sample,
  type Scenario,
  type Target,
} from '../../scenarios/scenario.ts'
import { ALL, shown } from '../peers.ts'

const TASKS = 5_000
const HANDLER = { waitMs: 10 }
const CONCURRENCY = 10
const LIMIT_MS = 30_000

const CPU = { key: 'cpuUs', label: 'processor time a task', unit: 'µs' } as const
const WORKER_CPU = { key: 'workerUs', label: 'in the worker', unit: 'µs' } as const
const SERVER_CPU = { key: 'serverUs', label: 'in the server', unit: 'µs' } as const

export const handlers: Scenario = {
  id: 'handlers',
  title: 'Handlers that wait 10 ms, ten at a time',
  meaning:
    `${TASKS.toLocaleString('en')} waiting tasks, one process, concurrency ${CONCURRENCY}. Each handler waits ${HANDLER.waitMs} ms, as for an ` +
    'answer of another service. What counts is what the processor pays for a task: all threads of the worker, and the server.',
  metrics: [CPU, WORKER_CPU, SERVER_CPU, PER_SECOND],
  entries: (bench) =>
    ALL.map(
      (contender): Entry => ({
        label: shown(contender),
        contender,
        measure: () => measure(bench, contender),
      }),
    ),
  targets: [
    ownTarget('sqlite/gleaner', 120),
    ownTarget('postgres/gleaner', 200),
    peerTarget('sqlite/gleaner', 'sqlite/plainjob'),
    peerTarget('postgres/gleaner', 'postgres/graphile-worker-batched'),
    peerTarget('postgres/gleaner', 'postgres/bullmq-redis'),
  ],
}

function ownTarget(contender: ContenderName, atMost: number): Target {
  return {
    level: 'reach',
    text: `${shown(contender)}: ≤ ${atMost} µs`,
    entry: shown(contender),
    metric: CPU.key,
    atMost,
  }
}

function peerTarget(contender: ContenderName, peer: ContenderName): Target {
  return {
    level: 'reach',
    text: `${shown(contender)}: below ${shown(peer)}`,
    entry: shown(contender),
    metric: CPU.key,
    relativeTo: shown(peer),
    atMost: 1,
  }
}

function measure(bench: Bench, contender: ContenderName): Promise<Sample> {
  const count = bench.size(TASKS, 100)
  return bench.withStock({ contender, stock: [{ state: 'waiting', count }] }, async (place, serverMs) => {
    const worker = bench.start('drain', {
      contender,
      place,
      limitMs: bench.size(LIMIT_MS, 5_000),
      handler: HANDLER,
      concurrency: CONCURRENCY,
    })
    try {
      await worker.hear('ready')
      const before = serverMs()
      worker.tell('go')
      const result = await worker.result()
      return summary(result, serverMs() - before)
    } finally {
      worker.kill()
    }
  })
}

function summary({ ran, cpuMs, startedMs, endedMs }: DrainResult, serverMs: number): Sample {
  const workerUs = (cpuMs / ran) * 1000
  const serverUs = (serverMs / ran) * 1000
  return {
    cpuUs: workerUs + serverUs,
    workerUs,
    serverUs,
    perSecond: (ran / (endedMs - startedMs)) * 1000,
  }
}
