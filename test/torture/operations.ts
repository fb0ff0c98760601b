import { systemClock } from '../../src/clock.ts'
import { type Gleaner, openGleaner } from '../../src/index.ts'
import { Sweeper } from '../../src/maintenance/sweeper.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import { newTask } from '../conformance/world.ts'
import {
  effect,
  flaky,
  held,
  limited,
  ordered,
  plain,
  stepped,
  tasks,
  waiting,
  withLimited,
} from './tasks.ts'

/** An operation of the engine that can be killed between any two of its steps. */
export interface Operation {
  name: string
  /** Fills the database before: in the test's process, once. */
  prepare?: (gleaner: Gleaner) => Promise<unknown>
  /** A worker in another process holds these, and is killed before: for what must be given back. */
  leftBehind?: { concurrency: number; tasks: number }[]
  /** Whose statements count; default main. */
  thread?: 'keeper'
  /** What a query must answer when everything has ended, wherever it was killed. */
  afterwards?: { sql: string; rows: unknown[] }
  /** Timers decide how many steps it takes. */
  varies?: boolean
  /** It has limits. */
  limited?: boolean
  /** Of its many steps, how many the short form kills at. */
  some?: number
  /** In the child. `begin` and `end` enclose the steps; `acknowledge` says what the caller was promised. */
  run: (context: RunContext) => Promise<void>
}

export interface RunContext {
  database: string
  begin: () => void
  end: () => void
  /** Resolves when no statement is under way, such as those that a worker begins with. */
  quiet: () => Promise<void>
  acknowledge: (promise: {
    exists?: string[]
    status?: Record<string, string>
    paused?: boolean
    signalled?: string
  }) => void
}

const open = (database: string) => openGleaner({ database, tasks, timings: { sweep: '1h' } })

/** For operations on a database that is open. */
function withGleaner(run: (gleaner: Gleaner, context: RunContext) => Promise<void>): Operation['run'] {
  return async (context) => {
    const gleaner = await open(context.database)
    await run(gleaner, context)
    await gleaner.close()
  }
}

const exists = (handles: { id: string }[]) => ({ exists: handles.map(({ id }) => id) })

export const OPERATIONS: Operation[] = [
  {
    name: 'opening a new database',
    async run({ database, begin, end }) {
      begin()
      const gleaner = await open(database)
      end()
      await gleaner.close()
    },
  },
  {
    name: 'enqueue',
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      begin()
      const handle = await gleaner.enqueue(effect)
      end()
      acknowledge(exists([handle]))
    }),
  },
  {
    name: 'enqueue of one with a key, a delay and a large input',
    prepare: (gleaner) => gleaner.enqueue(effect),
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      const large = 'x'.repeat(5_000)
      begin()
      const handle = await gleaner.enqueue(plain, large, { key: 'k', keyScope: 'forever', runAfter: '50ms' })
      end()
      acknowledge(exists([handle]))
    }),
  },
  {
    name: 'debounce of a task that waits, with a large input',
    prepare: (gleaner) => gleaner.enqueue(plain, 1, { key: 'k', debounce: '20ms' }),
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      begin()
      const handle = await gleaner.enqueue(plain, 'x'.repeat(5_000), { key: 'k', debounce: '20ms' })
      end()
      acknowledge(exists([handle]))
    }),
  },
  {
    name: 'enqueueMany in one transaction',
    prepare: (gleaner) => gleaner.enqueueMany(plain, Array(998).fill(0)),
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      begin()
      // The thousandth task: the counters are brought up to date as well.
      const handles = await gleaner.enqueueMany(effect, Array(3).fill(undefined), { atomic: true })
      end()
      acknowledge(exists(handles))
    }),
  },
  {
    name: 'claiming, running and settling, from the start of a worker to its stop',
    varies: true,
    prepare: async (gleaner) => {
      await gleaner.enqueue(plain, 1)
      await gleaner.enqueue(effect)
      await gleaner.enqueue(flaky)
      await gleaner.enqueue(plain, 2, { runAfter: 1 })
    },
    run: withGleaner(async (gleaner, { begin, end }) => {
      begin()
      const worker = gleaner.work({ concurrency: 2 })
      await worker.drained({ includeDelayed: true })
      await worker.stop()
      end()
    }),
  },
  {
    name: 'enqueuing the first tasks of two keys with a limit',
    limited: true,
    some: 4,
    async run({ database, begin, end, acknowledge }) {
      const gleaner = await openGleaner({ database, tasks: withLimited })
      begin()
      const handles = await gleaner.enqueueMany(limited, ['a', 'b', 'a'], { atomic: true })
      end()
      acknowledge(exists(handles))
      await gleaner.close()
    },
  },
  {
    name: 'claiming, running and settling within limits, and setting them',
    varies: true,
    limited: true,
    some: 6,
    prepare: async (gleaner) => {
      await gleaner.enqueueMany(limited, ['a', 'a', 'b'])
      await gleaner.enqueue(flaky)
    },
    async run({ database, begin, end }) {
      begin()
      const gleaner = await openGleaner({
        database,
        tasks: withLimited,
        queues: { default: { concurrency: 2 } },
        timings: { sweep: '1h' },
      })
      const worker = gleaner.work({ concurrency: 3 })
      await worker.drained({ includeDelayed: true })
      await gleaner.close()
      end()
    },
  },
  {
    name: 'claiming, running and settling tasks of one order key, and cancelling one',
    varies: true,
    some: 3,
    prepare: (gleaner) => gleaner.enqueueMany(ordered, ['a', 'a', 'b', 'a', 'a']),
    // None of a key began before the one before it had ended.
    afterwards: {
      sql: `SELECT one.id FROM gleaner.tasks one JOIN gleaner.tasks later
              ON later.order_key = one.order_key AND later.id > one.id AND later.id <= 5
            WHERE one.status = 'completed' AND later.status = 'completed' AND one.finished_at > later.started_at`,
      rows: [],
    },
    run: withGleaner(async (gleaner, { begin, end }) => {
      begin()
      await gleaner.enqueue(ordered, 'a')
      await gleaner.tasks.cancel('4')
      await gleaner.work({ concurrency: 2 }).drained({ includeDelayed: true })
      end()
    }),
  },
  {
    name: 'ctx.complete',
    some: 8,
    prepare: (gleaner) => gleaner.enqueue(plain),
    run: withGleaner(async (gleaner, { quiet, begin, end, acknowledge }) => {
      const worker = gleaner.work({ concurrency: 1 })
      await worker.drained()
      await quiet()
      gleaner.on('started', begin)
      gleaner.on('completed', ({ id }) => {
        end()
        acknowledge({ status: { [id]: 'completed' } })
      })
      await gleaner.enqueue(effect)
      await worker.drained()
    }),
  },
  {
    name: 'a run with steps, one of them atomic',
    // Its completion is handed in by an exchange that may begin a moment earlier or later.
    varies: true,
    some: 6,
    prepare: (gleaner) => gleaner.enqueue(plain),
    run: withGleaner(async (gleaner, { quiet, begin, end, acknowledge }) => {
      const worker = gleaner.work({ concurrency: 1 })
      await worker.drained()
      await quiet()
      gleaner.on('started', begin)
      gleaner.on('completed', ({ id }) => {
        end()
        acknowledge({ status: { [id]: 'completed' } })
      })
      await gleaner.enqueue(stepped)
      await worker.drained()
    }),
  },
  {
    name: 'a run that takes a signal which was sent before',
    varies: true,
    some: 4,
    prepare: async (gleaner) => {
      const { id } = await gleaner.enqueue(waiting)
      await gleaner.signal(id, 'go', 1)
    },
    // Wherever it was killed, the signal was taken once in the end.
    afterwards: {
      sql: `SELECT t.status || ' ' || s.kind || ' ' || s.value || ' ' || (SELECT count(*) FROM gleaner.signals)
            FROM gleaner.tasks t JOIN gleaner.steps s ON s.item = CAST(t.id AS text) AND s.name = 'go'`,
      rows: ['completed signal 1 0'],
    },
    run: withGleaner(async (gleaner, { begin, end }) => {
      begin()
      const worker = gleaner.work({ concurrency: 1 })
      await worker.drained()
      await worker.stop()
      end()
    }),
  },
  {
    name: 'suspending a task, and the signal that resumes it',
    varies: true,
    some: 5,
    prepare: (gleaner) => gleaner.enqueue(plain),
    run: withGleaner(async (gleaner, { quiet, begin, end, acknowledge }) => {
      const worker = gleaner.work({ concurrency: 1 })
      await worker.drained()
      await quiet()
      const completed = new Promise<void>((resolve) =>
        gleaner.on('completed', ({ id }) => {
          end()
          acknowledge({ status: { [id]: 'completed' } })
          resolve()
        }),
      )
      gleaner.on('started', begin)
      gleaner.on('suspended', async ({ id }) => {
        await gleaner.signal(id, 'go', 1)
        acknowledge({ signalled: id })
      })
      await gleaner.enqueue(waiting)
      await completed
      await worker.stop()
    }),
  },
  {
    name: 'stopping with work in hand',
    // What ends at the same moment is handed in by one exchange, or by two.
    varies: true,
    prepare: (gleaner) => gleaner.enqueueMany(held, Array(3).fill(undefined)),
    run: withGleaner(async (gleaner, { quiet, begin, end }) => {
      let running = 0
      const all = new Promise<void>((resolve) =>
        gleaner.on('started', () => {
          running += 1
          if (running === 3) resolve()
        }),
      )
      const worker = gleaner.work({ concurrency: 3 })
      await all
      await quiet()
      begin()
      await worker.stop({ drain: 1 })
      end()
    }),
  },
  {
    name: 'renewing',
    prepare: (gleaner) => gleaner.enqueue(held),
    thread: 'keeper',
    async run({ database, end }) {
      // Told by its steps alone: the keeper's thread arms itself, and goes on until it is killed.
      const gleaner = await openGleaner({ database, tasks, timings: { lease: '150ms', sweep: '1h' } })
      gleaner.work({ concurrency: 1 })
      end()
    },
  },
  {
    name: 'sweeping: one item, to be charged; and several, to be suspected',
    prepare: (gleaner) => gleaner.enqueueMany(held, Array(4).fill(undefined)),
    // One charged, three suspected: not one more because a sweep was repeated.
    afterwards: { sql: 'SELECT crashes FROM gleaner.tasks ORDER BY id LIMIT 4', rows: [1, 0, 0, 0] },
    leftBehind: [
      { concurrency: 1, tasks: 1 },
      { concurrency: 3, tasks: 3 },
    ],
    async run({ database, begin, end }) {
      const store = await openStore(database, {})
      const sweeper = new Sweeper(store, systemClock, { leaseMs: 30_000, everyMs: 2_000 })
      begin()
      await sweeper.sweep()
      end()
      await store.close()
    },
  },
  {
    name: 'cancel of a waiting task',
    prepare: (gleaner) => gleaner.enqueue(effect, undefined, { runAfter: '50ms' }),
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      const { items } = await gleaner.tasks.list()
      begin()
      await gleaner.tasks.cancel(items[0]!.id)
      end()
      acknowledge({ status: { [items[0]!.id]: 'cancelled' } })
    }),
  },
  {
    name: 'retry by hand',
    prepare: async (gleaner) => {
      const handle = await gleaner.enqueue(effect, undefined, { runAfter: '1h', key: 'k' })
      await handle.cancel()
    },
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      const { items } = await gleaner.tasks.list()
      begin()
      await gleaner.tasks.retry(items[0]!.id)
      end()
      acknowledge({ status: { [items[0]!.id]: 'queued' } })
    }),
  },
  {
    name: 'removing',
    prepare: async (gleaner) => {
      const handle = await gleaner.enqueue(plain, 'x'.repeat(5_000), {
        runAfter: '1h',
        key: 'k',
        keyScope: 'forever',
      })
      await handle.cancel()
    },
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      const { items } = await gleaner.tasks.list()
      begin()
      await gleaner.tasks.remove(items[0]!.id)
      end()
      acknowledge({ status: { [items[0]!.id]: 'gone' } })
    }),
  },
  {
    name: 'pruning',
    varies: true,
    prepare: async (gleaner) => {
      const key = { key: 'k', keyScope: 'forever' } as const
      await gleaner.enqueue(plain, 'x'.repeat(5_000), key)
      await gleaner.enqueueMany(flaky, [undefined, undefined])
      const worker = gleaner.work()
      await worker.drained({ includeDelayed: true })
      await worker.stop()
      await gleaner.enqueue(effect)
    },
    // Wherever it was killed: the key is held.
    afterwards: { sql: 'SELECT key FROM gleaner.forever_keys', rows: ['plain/k'] },
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      const { items } = await gleaner.tasks.list({ status: 'completed' })
      begin()
      await gleaner.maintenance.prune({ completed: 0 })
      end()
      acknowledge({ status: Object.fromEntries(items.map(({ id }) => [id, 'gone'])) })
    }),
  },
  {
    name: 'enqueuing an occurrence of what recurs',
    prepare: (gleaner) => gleaner.enqueue(effect),
    // Taken and enqueued, or neither.
    afterwards: {
      sql: `SELECT CASE WHEN (next_at > 1000) = (last_task IS NOT NULL) AND (next_at > 1000) =
                ((SELECT count(*) FROM gleaner.tasks WHERE input = '"recurring"') = 1) THEN 1 ELSE 0 END AS whole
            FROM gleaner.schedules`,
      rows: [1],
    },
    async run({ database, begin, end }) {
      // Planned in 1970, and due ever since.
      const past = await openStore(database, { clock: { ...systemClock, now: () => 0 } })
      await past.admin.planSchedules([{ name: 'plain', every: '1s', timezone: null }])
      await past.close()
      const store = await openStore(database, {})
      begin()
      await store.admin.fireSchedules([newTask({ name: 'plain', input: '"recurring"' })])
      end()
      await store.close()
    },
  },
  {
    name: 'changing the order of a queue, and re-ranking what waits in it',
    prepare: (gleaner) => gleaner.enqueue(effect),
    async run({ database, begin, end }) {
      const store = await openStore(database, {})
      begin()
      await store.admin.configureQueues([
        { name: 'default', ordering: { strategy: 'weighted', ageingMs: null } },
      ])
      await store.maintenance.rerank()
      end()
      await store.close()
    },
  },
  {
    name: 'pausing everything',
    prepare: (gleaner) => gleaner.enqueue(effect),
    run: withGleaner(async (gleaner, { begin, end, acknowledge }) => {
      begin()
      await gleaner.pause()
      end()
      acknowledge({ paused: true })
    }),
  },
]
