import { type Context, defineTask, openGleaner, type QueueOptions } from '../../src/index.ts'
import type { Payload } from '../payload.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { StrategyName } from '../scenarios/strategies.ts'
import { enqueueWithCallers } from './callers.ts'
import type { Contender, Spread, TaskSide, WorkHooks } from './contender.ts'
import { LIBRARY } from './library.ts'

/** Of a drain. */
const CONCURRENCY = 100
/** Of those that are spread over names or queues: so many calls of enqueueMany are under way. */
const CALLERS = 16

/** More than the worker could do. */
const QUEUE_LIMIT: QueueOptions = { concurrency: 200, rate: { count: 1_000_000, per: '1s' } }
const KEY_LIMIT = { key: (payload: Payload) => payload.n % 1_000, concurrency: 10 }

/** Only through the public door, as an application would. */
export const contender: Contender = {
  async open(place, { durability, strategy, keepMs, limits, spread, batch, concurrency = CONCURRENCY }) {
    let onRun: WorkHooks['onRun'] = () => {}
    const define = (name: string) =>
      batch !== undefined
        ? inBatches(name, batch)
        : defineTask({
            name,
            input: anyPayload,
            run: async (payload: Payload, ctx: Context) => onRun(payload, sideOf(ctx)),
            limit: keyLimitOf(limits, spread),
          })
    const inBatches = (name: string, size: number) =>
      defineTask({
        name,
        input: anyPayload,
        batch: { size },
        run: async (payloads: Payload[]) => {
          for (const payload of payloads) await onRun(payload)
          return payloads.map(() => null)
        },
      })
    const tasks = namesOf(spread).map(define)
    const noop = tasks[0]!
    const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
    const gleaner = await openGleaner({
      database,
      sqlite: { driver: LIBRARY },
      durability,
      tasks,
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
        if (spread === undefined || spread.over === 'limit keys') {
          await gleaner.enqueueMany(noop, payloads)
          return
        }
        const parts = Map.groupBy(payloads, ({ n }) => n % spread.count)
        const add = ([part, list]: [number, Payload[]]) =>
          spread.over === 'names'
            ? gleaner.enqueueMany(tasks[part]!, list)
            : gleaner.enqueueMany(noop, list, { queue: `queue-${part}` })
        const waiting = parts.entries()
        await Promise.all(
          Array.from({ length: CALLERS }, async () => {
            for (const part of waiting) await add(part)
          }),
        )
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
        const worker = gleaner.work({ concurrency, ...servedQueues(spread) })
        return { drained: () => worker.drained(), stop: () => worker.stop() }
      },
      close: () => gleaner.close(),
    }
  },
}

function sideOf(ctx: Context): TaskSide {
  return { log: async (line) => ctx.log.info(line), progress: (share) => ctx.progress(share) }
}

/** Of those that the tasks do not name by themselves. */
function servedQueues(spread: Spread | undefined): { queues?: string[] } {
  if (spread?.over !== 'queues') return {}
  return { queues: Array.from({ length: spread.count }, (_, index) => `queue-${index}`) }
}

function namesOf(spread: Spread | undefined): string[] {
  if (spread?.over !== 'names') return ['noop']
  return Array.from({ length: spread.count }, (_, index) => `noop-${index}`)
}

/** More than the worker could do for each of the keys. */
function keyLimitOf(limits: LimitsName | undefined, spread: Spread | undefined) {
  if (spread?.over === 'limit keys') {
    return { key: (payload: Payload) => payload.n % spread.count, concurrency: 200 }
  }
  return limits === '1000 keys with limits' ? KEY_LIMIT : undefined
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
