import { type Clock, systemClock } from '../clock.ts'
import { PAYLOAD_MAX_BYTES } from '../define/payload.ts'
import { checkQueues } from '../define/queue.ts'
import type { Enqueue } from '../define/types.ts'
import { discoveryManagement } from '../discovery/manage.ts'
import { DiscoveryRegistry } from '../discovery/registry.ts'
import { closedError } from '../errors.ts'
import { maintenanceManagement } from '../maintenance/manage.ts'
import { Pruner } from '../maintenance/pruner.ts'
import { Repairer } from '../maintenance/repairer.ts'
import { Reranker } from '../maintenance/reranker.ts'
import { retentionOf } from '../maintenance/retention.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import type { PlannedLimit } from '../model/limit.ts'
import type { QueueSettings } from '../model/queue.ts'
import { refuseUnknown } from '../options.ts'
import { Enqueuer } from '../queue/enqueue.ts'
import { PendingResults, TaskHandle } from '../queue/handle.ts'
import { queueManagement, taskManagement } from '../queue/manage.ts'
import { Meter } from '../queue/meter.ts'
import { readMetrics } from '../queue/metrics.ts'
import { pauseQueue, resumeEverything } from '../queue/pausing.ts'
import { type Occurrences, occurrencesOf, Recurring } from '../queue/recurring.ts'
import { TaskRegistry } from '../queue/registry.ts'
import { scheduleManagement } from '../queue/schedules.ts'
import { Tracing } from '../queue/tracing.ts'
import { openStore } from '../store/open.ts'
import type { PlannedDiscovery } from '../store/ports/rows.ts'
import type { Store } from '../store/ports/store.ts'
import { adoptConnection } from '../store/sqlite/drivers/adopt.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import { Emitter } from '../worker/events.ts'
import type { RunHooks } from '../worker/hooks.ts'
import type { RunWatch } from '../worker/in-flight.ts'
import { CrashIsolation } from '../worker/isolation/crash-isolation.ts'
import { Keeper, type StartKeeper } from '../worker/keeper/keeper.ts'
import { workerManagement } from '../worker/manage.ts'
import { Worker } from '../worker/worker.ts'
import type { WorkerOptions } from '../worker/worker-options.ts'
import { openClaims } from './claims.ts'
import type { ConnectedOptions, Gleaner, GleanerOptions, WorkOptions } from './gleaner.ts'
import { INSIDE, type Inside } from './inside.ts'
import { reportLostWorker } from './lost-workers.ts'
import { bad, checkPostgres, checkTelemetry, checkTimings } from './settings.ts'
import { checkResources, checkWork, sourcesOf } from './work-options.ts'

export const GLEANER_OPTIONS = [
  'database',
  'postgres',
  'sqlite',
  'tasks',
  'discoveries',
  'queues',
  'durability',
  'payloadLimit',
  'retention',
  'hooks',
  'telemetry',
  'timings',
]

/** Opens the database (and creates the tables, the first time). Close it when you are done. */
export async function openGleaner(options: GleanerOptions | ConnectedOptions): Promise<Gleaner> {
  if (!isConnected(options)) return openProcess(options)
  const { library, path } = adoptConnection(options.database)
  const known = { ...options, database: `sqlite:${path}`, sqlite: { driver: library } }
  return openProcess(known, { beside: options.database })
}

function isConnected(options: GleanerOptions | ConnectedOptions): options is ConnectedOptions {
  return typeof options?.database === 'object' && options.database !== null
}

/** The same for a process of ours, which brings its own keeper. */
export async function openProcess(
  options: GleanerOptions,
  { beside, ...extras }: Pick<Ground, 'startKeeper'> & { beside?: object } = {},
): Promise<Engine> {
  const checked = checkOptions(options)
  // Everything is checked before anything is written.
  const occurrences = await occurrencesOf(checked.registry, checked.payloadLimit)
  const store = await openStore(options.database, {
    durability: checked.durability,
    sqlite: { ...checked.sqlite, beside },
    postgres: { ...checked.postgres, queryTimeoutMs: checked.timings.queryMs },
  })
  return planned({ store, clock: systemClock, random: Math.random, ...extras }, checked, occurrences)
}

/** What the engine stands on: a test brings its own. */
export interface Ground {
  store: Store
  clock: Clock
  random: () => number
  startKeeper?: StartKeeper
}

/** A Gleaner whose workers can be looked into. */
export interface Engine extends Gleaner {
  work(options?: WorkOptions & Place): Worker
  readonly [INSIDE]: Inside
}

/** Of a worker that is a process of its own, under a supervisor. */
interface Place extends Pick<WorkerOptions, 'supervisor' | 'paused'> {
  id?: string
  watch?: RunWatch
  /** Items that its last lives ended on. */
  avoid?: readonly string[]
}

/** The same engine on the caller's own store and time. */
export async function openEngine(
  ground: Ground,
  options: Omit<GleanerOptions, 'database' | 'postgres' | 'sqlite'>,
): Promise<Engine> {
  const checked = checkOptions(options)
  return planned(ground, checked, await occurrencesOf(checked.registry, checked.payloadLimit))
}

async function planned(ground: Ground, checked: Checked, occurrences: Occurrences): Promise<Engine> {
  const { store } = ground
  let found: readonly PlannedDiscovery[] = []
  try {
    const sources = checked.discoveries.sources()
    if (sources.length > 0) found = await store.rows.planDiscoveries(sources)
    if (checked.queues.length > 0) await store.admin.configureQueues(checked.queues)
    if (checked.limits.length > 0) await store.admin.planLimits(checked.limits)
    if (occurrences.schedules.length > 0) await store.admin.planSchedules(occurrences.schedules)
  } catch (error) {
    await store.close()
    throw error
  }
  warnOfScans(found)
  return engine(ground, checked, occurrences)
}

/** Before anybody can listen for problems, so that it is said aloud. */
function warnOfScans(planned: readonly PlannedDiscovery[]): void {
  for (const { name, createIndex } of planned) {
    if (createIndex === null) continue
    const why = `to find rows that need work, discovery ${name} reads rows that do not`
    process.emitWarning(
      `${why}, which is slow on a large table. Create an index: ${createIndex}`,
      'GleanerWarning',
    )
  }
}

type Checked = ReturnType<typeof checkOptions>

function engine(
  { store, clock, random, startKeeper }: Ground,
  checked: Checked,
  occurrences: Occurrences,
): Engine {
  const { registry, discoveries, timings, payloadLimit, retention } = checked
  const emitter = new Emitter()
  const handles = { store, results: new PendingResults(store, clock, timings.pollMs) }
  const meter = new Meter(store, clock, timings.metricsMs)
  const onProblem = (message: string, error: unknown) => emitter.emit('problem', () => ({ message, error }))
  const tracing = checked.telemetry === undefined ? undefined : new Tracing(checked.telemetry, onProblem)
  const hooks: RunHooks = { ...checked.hooks, tracing }
  const enqueuer = new Enqueuer(registry, handles, payloadLimit, meter, tracing)
  const enqueue = enqueuer.enqueue.bind(enqueuer) as Enqueue
  const enqueueWithin = (tx: unknown) => (async (...args) => enqueuer.within(tx).enqueue(...args)) as Enqueue
  const plan = store.sessions.renewal()
  const keeper = new Keeper(plan, timings.leaseMs, onProblem, startKeeper)
  const sweeper = new Sweeper(store, clock, {
    leaseMs: timings.leaseMs,
    everyMs: timings.sweepMs,
    onEnded: (session, cause, end) =>
      reportLostWorker({ store, emitter, hooks, meter, discoveries }, session, cause, end),
  })
  const recurring = new Recurring(store, clock, occurrences, {
    restMs: timings.idleMaxMs,
    onEnqueued: (task) => meter.enqueued(task),
    onProblem,
  })
  const pruner = new Pruner(store.maintenance, clock, retention, { everyMs: timings.pruneMs, onProblem })
  const reranker = new Reranker(store.maintenance, clock, { everyMs: timings.sweepMs, onProblem })
  const repairer = new Repairer(store.maintenance, clock, { everyMs: timings.repairMs, onProblem })
  // Who changes the order of a queue begins with it; who works goes on with it.
  if (checked.queues.length > 0 && plan !== null) void reranker.once()
  const isolation = new CrashIsolation(clock)
  const workers = new Set<Worker>()
  let workersEver = 0
  let isSwept = false
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    recurring.stop()
    pruner.stop()
    reranker.stop()
    repairer.stop()
    await Promise.all([claims.close(), ...[...workers].map((worker) => worker.stop())])
    handles.results.close()
    sweeper.stop()
    await keeper.close()
    await meter.close()
    await store.close()
  }
  // Where nobody else can see a session there is nobody to sweep, and nobody who changes the order of a queue.
  function maintain({ rows, isShared }: { rows: boolean; isShared: boolean }): void {
    if (isShared && !isSwept) {
      isSwept = true
      sweeper.start()
      reranker.start()
    }
    recurring.start()
    pruner.start()
    if (rows && isShared) repairer.start()
  }
  const claimServices = { store, clock, random, emitter, hooks, meter, enqueue, enqueueWithin }
  const claims = openClaims(
    { ...claimServices, keeper, isolation, payloadLimit, timings },
    checked,
    ({ discoveries, remote }) =>
      maintain({ rows: discoveries.size > 0, isShared: plan !== null || remote !== null }),
  )
  const closeOnce = () => {
    closing ??= close()
    return closing
  }

  return {
    [INSIDE]: { store, registry, durability: checked.durability, retention, onProblem, tracing, claims },
    enqueue,
    enqueueMany: (task, inputs, options) => enqueuer.enqueueMany(task, inputs, options),
    within: (transaction: any) => enqueuer.within(transaction),
    handle: (task, id) => new TaskHandle(String(id), false, registry.of(task), handles),
    work({ id, supervisor, paused, watch, avoid, ...options } = {}) {
      if (closing !== undefined) throw closedError()
      const serving = checkWork(options, checked)
      workersEver += 1
      const worker = new Worker(
        {
          id: id ?? `worker:pid${process.pid}:${workersEver - 1}`,
          supervisor,
          paused,
          capabilities: serving.capabilities,
          concurrency: serving.concurrency,
          resourceErrorLimit: serving.resourceErrorLimit,
          sources: sourcesOf(serving, store, checked, avoid),
          payloadLimit,
          timings,
        },
        { store, clock, random, keeper, isolation, emitter, hooks, meter, enqueue, enqueueWithin, watch },
      )
      workers.add(worker)
      // After the worker, which is what somebody waits for.
      maintain({ rows: serving.rows.size > 0, isShared: plan !== null })
      return worker
    },
    claim: (options) => claims.claim(options),
    tasks: taskManagement(store, meter),
    queues: queueManagement(store.admin),
    workers: workerManagement(store),
    discoveries: discoveryManagement(store, meter),
    schedules: scheduleManagement(handles, registry, occurrences, meter),
    metrics: (options) => readMetrics(store, meter, options),
    pause: () => pauseQueue(store, null),
    resume: () => resumeEverything(store),
    on: (event, listener) => emitter.on(event, listener),
    maintenance: maintenanceManagement({ store: store.maintenance, pruner, retention, close: closeOnce }),
    close: closeOnce,
  }
}

/** Everything but the database itself. `caller` is who is named when it is no object, or has what there is not. */
export function checkOptions(options: Omit<GleanerOptions, 'database'>, caller = 'openGleaner') {
  if (typeof options !== 'object' || options === null)
    throw bad(caller, options, "Give { database: 'sqlite:…' }.")
  refuseUnknown(options, GLEANER_OPTIONS, caller)
  const {
    durability = 'full',
    payloadLimit = PAYLOAD_MAX_BYTES,
    hooks = {},
    tasks = [],
    discoveries = [],
    timings = {},
  } = options
  if (durability !== 'full' && durability !== 'normal')
    throw bad('durability', durability, "Use 'full' or 'normal'.")
  if (!Number.isInteger(payloadLimit) || payloadLimit < 1)
    throw bad('payloadLimit', payloadLimit, 'Use a number of bytes.')
  refuseUnknown(hooks, ['onFailure', 'aroundRun'], 'hooks')
  const known = { registry: new TaskRegistry(tasks), discoveries: new DiscoveryRegistry(discoveries) }
  checkResources(known)
  const queues = checkQueues(options.queues ?? {})
  return {
    ...known,
    queues,
    limits: [...limitsOf(queues), ...known.registry.limits()],
    durability,
    payloadLimit,
    hooks,
    telemetry: checkTelemetry(options.telemetry),
    retention: retentionOf(options.retention ?? {}),
    timings: checkTimings(timings),
    postgres: checkPostgres(options.postgres ?? {}),
    sqlite: checkSqlite(options.sqlite ?? {}),
  } as const
}

/** Of those queues whose limit was named. */
function limitsOf(queues: readonly QueueSettings[]): PlannedLimit[] {
  return queues.flatMap(({ name, limit }) => (limit === undefined ? [] : [{ queue: name, limit }]))
}
