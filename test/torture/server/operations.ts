import { z } from 'zod'
import { systemClock } from '../../../src/clock.ts'
import { type Duration, defineTask, type Gleaner, StoreError, type WorkOptions } from '../../../src/index.ts'
import { Sweeper } from '../../../src/maintenance/sweeper.ts'
import { openStore } from '../../../src/store/by-url/open.ts'
import { effect, flaky, limited, plain } from '../tasks.ts'

/** What a caller was promised. */
export interface Promised {
  exists?: string[]
  status?: Record<string, string>
}

export interface Stage {
  gleaner: Gleaner
  /** Through which the server is killed. */
  database: string
  begin: () => void
  end: () => void
  acknowledge: (promised: Promised) => void
  /** Everything that was committed until now survives. */
  sync: () => Promise<void>
  /** If no step was the last one, the server dies here; by default when the operation is over. */
  die: () => Promise<void>
  /** Starts the worker that also has to bring everything to its end: another one would repair what this one does not. */
  work: (options: WorkOptions) => ReturnType<Gleaner['work']>
}

/** An operation of the engine during which its server dies, while the process lives on. */
export interface ServerOperation {
  name: string
  /** Fills the database before, once. */
  prepare?: (gleaner: Gleaner) => Promise<unknown>
  /** Some of its tasks have limits: where there are any, all claims go another way. */
  limited?: boolean
  /** Rows of the user's table before. */
  rows?: number
  /** Workers of other processes, killed before, that held so many tasks each. */
  leftBehind?: number[]
  /** While it runs; default: no sweep at all. */
  timings?: { lease?: Duration; sweep: Duration }
  /** Where the short form kills: so far into its points (from 0 to 1), or when it is over; default nowhere. */
  short?: readonly (number | 'over')[]
  /** With `begin` and `end` around the steps. A call that the death of the server made fail was promised nothing. */
  run: (stage: Stage) => Promise<void>
}

/** What a task of this input waits for. */
const gates = new Map<string, Promise<void>>()

export const gated = defineTask({
  name: 'gated',
  input: z.string(),
  run: async (name) => {
    await gates.get(name)
  },
})

export const SERVER_OPERATIONS: readonly ServerOperation[] = [
  {
    name: 'enqueue, of one and of several in one transaction',
    short: [0.99],
    async run({ gleaner, begin, end, acknowledge }) {
      begin()
      const one = await unlessAway(gleaner.enqueue(effect))
      if (one !== undefined) acknowledge({ exists: [one.id] })
      const many = await unlessAway(gleaner.enqueueMany(effect, Array(3).fill(undefined), { atomic: true }))
      if (many !== undefined) acknowledge({ exists: many.map(({ id }) => id) })
      end()
    },
  },
  {
    name: 'claiming, running and settling, of tasks that complete, fail and have effects',
    short: [0.5, 'over'],
    prepare: async (gleaner) => {
      await gleaner.enqueueMany(plain, [1, 2, 3])
      await gleaner.enqueueMany(effect, [undefined, undefined])
      await gleaner.enqueue(flaky)
      await gleaner.enqueue(plain, 4, { runAfter: 1 })
    },
    async run({ work, begin, end }) {
      begin()
      await work({ concurrency: 2 }).drained({ includeDelayed: true })
      end()
    },
  },
  {
    name: 'ctx.complete',
    short: [0.9],
    prepare: (gleaner) => gleaner.enqueue(effect),
    async run({ gleaner, work, begin, end, acknowledge }) {
      const { items } = await gleaner.tasks.list()
      gleaner.on('started', begin)
      gleaner.on('completed', () => acknowledge({ status: { [items[0]!.id]: 'completed' } }))
      await work({ concurrency: 1 }).drained()
      end()
    },
  },
  {
    name: 'running, after something else was handed in',
    short: ['over'],
    prepare: (gleaner) => gleaner.enqueueMany(gated, ['at once', 'first', 'second']),
    async run({ gleaner, work, sync, die }) {
      const [first, second] = ['first', 'second'].map((name) => {
        const gate = Promise.withResolvers<void>()
        gates.set(name, gate.promise)
        return gate
      })
      const next = (event: 'started' | 'completed', count: number) =>
        new Promise<void>((resolve) => {
          let heard = 0
          gleaner.on(event, () => ++heard === count && resolve())
        })
      // A worker that has completed something exchanges in the usual, faster way.
      const begun = Promise.all([next('started', 3), next('completed', 1)])
      const completed = next('completed', 2)
      const worker = work({ concurrency: 3 })
      await begun
      // The claims are kept, and the completion is lost.
      await sync()
      first!.resolve()
      await completed
      await die()
      second!.resolve()
      await worker.drained()
    },
  },
  {
    name: 'claiming, running and settling within limits',
    limited: true,
    prepare: async (gleaner) => {
      await gleaner.enqueueMany(limited, ['a', 'a', 'b'])
      await gleaner.enqueue(flaky)
    },
    async run({ gleaner, work, begin, end }) {
      await gleaner.queues.pause('default')
      await gleaner.queues.resume('default')
      begin()
      await work({ concurrency: 3 }).drained({ includeDelayed: true })
      end()
    },
  },
  {
    name: 'claiming, running and settling of rows, with effects and without',
    short: [0.6],
    rows: 6,
    async run({ work, begin, end }) {
      begin()
      await work({ concurrency: 2 }).drained({ includeDelayed: true })
      end()
    },
  },
  {
    name: 'sweeping: one item, to be charged; and several, to be suspected',
    leftBehind: [1, 3],
    timings: { sweep: '10ms' },
    async run({ database, begin, end }) {
      const store = await openStore(database, {})
      const sweeper = new Sweeper(store, systemClock, { leaseMs: 30_000, everyMs: 2_000 })
      begin()
      await unlessAway(sweeper.sweep())
      end()
      await store.close()
    },
  },
  {
    name: 'stopping with work in hand',
    // What could not be given back in time is given back when the lease is over.
    timings: { sweep: '50ms', lease: '2s' },
    prepare: (gleaner) => gleaner.enqueueMany(effect, Array(20).fill(undefined)),
    async run({ gleaner, begin, end }) {
      const worker = gleaner.work({ concurrency: 3 })
      await new Promise((resolve) => gleaner.on('started', resolve))
      begin()
      await unlessAway(worker.stop({ drain: 1 }))
      end()
    },
  },
  {
    name: 'cancelling, retrying and removing',
    prepare: async (gleaner) => {
      await gleaner.enqueueMany(effect, [undefined, undefined, undefined], { runAfter: '1s' })
    },
    async run({ gleaner, begin, end, acknowledge }) {
      const { items } = await gleaner.tasks.list()
      const [first, second] = items.map(({ id }) => id) as [string, string]
      begin()
      const cancelled = await unlessAway(gleaner.tasks.cancel(first).then(() => true))
      if (cancelled) {
        const retried = await unlessAway(gleaner.tasks.retry(first).then(() => true))
        if (retried === undefined) acknowledge({ exists: [first] })
      }
      await unlessAway(gleaner.tasks.cancel(second))
      const removed = await unlessAway(gleaner.tasks.remove(second).then(() => true))
      if (removed) acknowledge({ status: { [second]: 'gone' } })
      end()
    },
  },
]

/** Undefined: the server was away; what was asked for may have happened, or not. Everything else is an error. */
async function unlessAway<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof StoreError && error.code === 'STORE_AWAY') return undefined
    throw error
  }
}
