import { defineTask, openGleaner, type QueueOptions } from '../../src/index.ts'
import type { Payload } from '../payload.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { StrategyName } from '../scenarios/strategies.ts'
import { enqueueWithCallers } from './callers.ts'
import type { Contender, WorkHooks } from './contender.ts'

const CONCURRENCY = 100

/** More than the worker could do. */
const QUEUE_LIMIT: QueueOptions = { concurrency: 200, rate: { count: 1_000_000, per: '1s' } }
/** `--sqlite`: which library opens the file. */
const LIBRARY = {
  driver: process.env.BENCH_SQLITE === 'node:sqlite' ? 'node:sqlite' : 'better-sqlite3',
} as const

const KEY_LIMIT = { key: (payload: Payload) => payload.n % 1_000, concurrency: 10 }

/** Only through the public door, as an application would. */
export const contender: Contender = {
  async open(place, { durability, strategy, keepMs, limits }) {
    let onRun: WorkHooks['onRun'] = () => {}
    const noop = defineTask({
      name: 'noop',
      input: anyPayload,
      run: async (payload: Payload) => onRun(payload),
      limit: limits === '1000 keys with limits' ? KEY_LIMIT : undefined,
    })
    const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
    const gleaner = await openGleaner({
      database,
      sqlite: LIBRARY,
      durability,
      tasks: [noop],
      queues: queuesOf(strategy, limits),
      ...(keepMs !== undefined && { retention: { completed: keepMs }, timings: { prune: '100ms' } }),
    })
    const enqueue = (payload: Payload) => gleaner.enqueue(noop, payload)

    return {
      async enqueueEach(payloads) {
        for (const payload of payloads) await enqueue(payload)
      },
      enqueueTogether: (payloads, callers) => enqueueWithCallers(payloads, callers, enqueue),
      async enqueueMany(payloads) {
        await gleaner.enqueueMany(noop, payloads)
      },
      async keepCompleted(payloads) {
        await gleaner.enqueueMany(noop, payloads)
        const worker = gleaner.work({ concurrency: CONCURRENCY })
        await worker.drained()
        await worker.stop()
      },
      async enqueueFutureInFront(payloads) {
        await gleaner.enqueueMany(noop, payloads, { priority: 1, runAfter: '1h' })
      },
      async enqueueIncompatibleInFront(payloads) {
        await gleaner.enqueueMany(noop, payloads, { priority: 1, requires: { gpu: true } })
      },
      counts: () => gleaner.tasks.counts(),
      firstPage: () => gleaner.tasks.list(),
      work(hooks) {
        onRun = hooks.onRun
        // A worker carries on after these; whoever listens is told, so here they count.
        gleaner.on('problem', ({ message, error }) => hooks.onError(new Error(message, { cause: error })))
        gleaner.on('claim-lost', ({ id }) => hooks.onError(new Error(`claim of ${id} lost`)))
        gleaner.on('failed', ({ id }) => hooks.onError(new Error(`${id} failed`)))
        const worker = gleaner.work({ concurrency: CONCURRENCY })
        return { drained: () => worker.drained(), stop: () => worker.stop() }
      },
      close: () => gleaner.close(),
    }
  },
}

/** Not named, it is as it is stored. */
function queuesOf(
  strategy: StrategyName | undefined,
  limits: LimitsName | undefined,
): Record<string, QueueOptions> {
  if (limits === 'a limited queue') return { default: QUEUE_LIMIT }
  if (strategy === undefined) return {}
  if (strategy === 'priority with ageing') return { default: { ageing: '10m' } }
  return { default: { strategy } }
}

/** A schema that checks nothing, as none of the others checks anything either. */
const anyPayload = {
  '~standard': {
    version: 1 as const,
    vendor: 'bench',
    validate: (value: unknown) => ({ value: value as Payload }),
    types: undefined as unknown as { input: Payload; output: Payload },
  },
}
