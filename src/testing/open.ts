import { shown } from '../define/names.ts'
import { definitionOf } from '../define/task.ts'
import type { Context, Task } from '../define/types.ts'
import { durationMs } from '../duration.ts'
import type { RunningWorker, WorkOptions } from '../engine/gleaner.ts'
import { openEngine } from '../engine/open.ts'
import { InputError } from '../errors.ts'
import type { TaskStatus } from '../model/task.ts'
import { Connection } from '../store/sqlite/file/connection.ts'
import { openSqliteStoreOn } from '../store/sqlite/store.ts'
import type { Hooks } from '../worker/attempt/hooks.ts'
import { poolOn } from '../worker/resources/pool.ts'
import type { Worker } from '../worker/worker.ts'
import { Bell } from './bell.ts'
import { RunStuckError } from './errors.ts'
import { Gate } from './gate.ts'
import { ManualClock } from './manual-clock.ts'
import { Passage } from './passage.ts'
import { recordsOf } from './records.ts'
import { Runs } from './runs.ts'
import type { TestGleaner, TestGleanerOptions } from './test-gleaner.ts'
import { withTransactions } from './transactions.ts'

const RUN_LIMIT = 10_000
/** Less than the 5 s after which most test runners give up, with less to say. */
const PATIENCE = '4s'

/** No wake-up is lost within one process, and looking every second would make a day of a test's time long. */
const NEVER = '3650d'
const TIMINGS = { idleMin: NEVER, idleMax: NEVER, poll: NEVER, prune: '1h' } as const

/** In the middle of the spread: a retry comes exactly when its backoff says. */
const NO_CHANCE = () => 0.5

/** Turns of the event loop that a worker needs to stop are some ten. */
const CLOSING_TURNS_MAX = 1_000
const CLOSING_STEP_MS = 1_000

/** The same engine as `openGleaner`'s, in memory, on a time that the test moves. */
export async function openTestGleaner(options: TestGleanerOptions = {}): Promise<TestGleaner> {
  const { startAt, setup, runLimit, patienceMs, engineOptions } = checkOptions(options)
  const bell = new Bell()
  const clock = new ManualClock(startAt, bell.ring)
  const runs = new Runs(clock, bell.ring)
  const { calls } = poolOn(clock)
  calls.watch((resource, call) => runs.track({ name: `resource ${resource}` }, call), bell.ring)
  // Nothing outlives the process anyway: there is no disk to wait for.
  const memory = { path: ':memory:', clock, durability: 'normal' } as const
  const connection = new Connection(memory.path)
  const db = withTransactions(connection.raw)
  const store = await openSqliteStoreOn(connection, memory)
  setup(db)
  const gate = new Gate(store, bell.ring)
  const engine = await openEngine(
    {
      store: gate.store,
      clock,
      random: NO_CHANCE,
      stepHooks: { pause: (ms) => runs.sleep(ms, undefined), left: (ctx) => runs.forget(ctx) },
    },
    {
      ...engineOptions,
      // What a test looks at must not be gone because it moved the time.
      retention: engineOptions.retention ?? false,
      hooks: tracked(engineOptions.hooks ?? {}, runs),
      timings: { ...TIMINGS, ...engineOptions.timings },
    },
  )
  const workers = new Set<Worker>()
  const passage = new Passage({ clock, gate, runs, calls, bell, workers, runLimit, patienceMs })
  let hasWorked = false
  let closing: Promise<void> | undefined
  engine.on('started', ({ name }) => passage.started(name))

  async function leave(worker: Worker, stopOptions?: Parameters<Worker['stop']>[0]): Promise<void> {
    await worker.stop(stopOptions)
    workers.delete(worker)
    bell.ring()
  }
  engine.on('worker-failed', ({ worker: id }) => {
    for (const worker of workers) if (worker.id === id) void leave(worker)
  })

  function work(workOptions?: WorkOptions): RunningWorker {
    const worker = engine.work(workOptions)
    hasWorked = true
    workers.add(worker)
    return {
      id: worker.id,
      async drained({ includeDelayed = false } = {}) {
        if (includeDelayed) throw timeStandsStill()
        await passage.advance(0)
      },
      stop: (stopOptions) => leave(worker, stopOptions),
      snapshot: () => worker.snapshot(),
      onPhase: (listener) => worker.onPhase(listener),
      get failed() {
        return worker.failed
      },
    }
  }

  async function advance(ms: number): Promise<void> {
    if (runs.current !== undefined) throw new RunStuckError([runs.current], 'a handler cannot await itself')
    if (!hasWorked && hasWork(engineOptions)) work()
    await passage.advance(ms)
  }

  async function close(): Promise<void> {
    passage.end()
    let isClosed = false
    const stopping = [...workers].map((worker) => worker.stop({ drain: 0 }))
    const closed = Promise.all(stopping)
      .then(() => engine.close())
      .finally(() => {
        isClosed = true
      })
    // Handlers that heed their signal have some time to end, which has to pass.
    for (let turn = 0; turn < CLOSING_TURNS_MAX && !isClosed; turn++) {
      await new Promise(setImmediate)
      clock.advance(CLOSING_STEP_MS)
    }
    await closed
  }

  const inState =
    (...statuses: TaskStatus[]) =>
    <I, R>(task?: Task<I, R>) =>
      recordsOf(engine.tasks, task, statuses)

  const closeOnce = () => {
    closing ??= close()
    return closing
  }

  return {
    ...engine,
    db,
    work,
    now: clock.now,
    advance: async (duration) => advance(durationMs(duration, 'advance')),
    runUntilIdle: () => advance(0),
    sleep: async (duration, { signal } = {}) => runs.sleep(durationMs(duration, 'sleep'), signal),
    enqueued: inState('scheduled', 'queued'),
    completed: inState('completed'),
    failed: inState('failed'),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}

function tracked(hooks: Hooks, runs: Runs): Hooks {
  const { aroundRun } = hooks
  const around = (ctx: Context, next: () => Promise<unknown>) =>
    runs.track(ctx, () => (aroundRun === undefined ? next() : aroundRun(ctx, next)))
  return { ...hooks, aroundRun: around }
}

function hasWork({ tasks = [], discoveries = [] }: TestGleanerOptions): boolean {
  return discoveries.length > 0 || tasks.some((task) => definitionOf(task).run !== undefined)
}

function checkOptions(options: TestGleanerOptions) {
  const { now, setup = () => {}, runLimit = RUN_LIMIT, patience = PATIENCE, ...engineOptions } = options
  const foreign = ['database', 'postgres', 'sqlite'].find((name) => name in engineOptions)
  if (foreign !== undefined) throw bad('option', foreign, 'It has a database of its own, in memory.')
  const startAt = now?.getTime()
  if (startAt !== undefined && !Number.isInteger(startAt)) throw bad('now', now, 'Use a valid Date.')
  if (!Number.isInteger(runLimit) || runLimit < 1) throw bad('runLimit', runLimit, 'Use a number from 1 on.')
  if (typeof setup !== 'function') throw bad('setup', setup, 'Give a function.')
  return { startAt, setup, runLimit, patienceMs: durationMs(patience, 'patience'), engineOptions }
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`openTestGleaner: ${what}: ${shown(value)} is not valid`, {
    code: 'BAD_OPTION',
    hint,
  })
}

function timeStandsStill(): InputError {
  return new InputError('drained: delayed tasks never become due while the test clock stands still', {
    code: 'BAD_OPTION',
    hint: 'Move the time with advance().',
  })
}
