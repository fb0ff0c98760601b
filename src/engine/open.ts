import { type Clock, systemClock } from '../clock.ts'
import { PAYLOAD_MAX_BYTES } from '../define/payload.ts'
import { checkQueues } from '../define/queue.ts'
import type { Enqueue, Task } from '../define/types.ts'
import { discoveryManagement } from '../discovery/manage.ts'
import { DiscoveryRegistry } from '../discovery/registry.ts'
import { closedError } from '../errors.ts'
import { maintenanceManagement } from '../maintenance/manage.ts'
import { retentionOf } from '../maintenance/retention.ts'
import type { PlannedLimit } from '../model/limit.ts'
import type { QueueSettings } from '../model/queue.ts'
import { Meter } from '../observe/meter.ts'
import { metricsOf } from '../observe/metrics.ts'
import { Tracing } from '../observe/tracing.ts'
import { checkTypes, declareOptions, refuseUnknown } from '../options.ts'
import { Batches } from '../queue/batch.ts'
import { Enqueuer } from '../queue/enqueue.ts'
import { PendingResults, TaskHandle } from '../queue/handle.ts'
import { queueManagement, taskManagement } from '../queue/manage.ts'
import { pauseQueue, resumeEverything } from '../queue/pausing.ts'
import { type Occurrences, occurrencesOf } from '../queue/recurring.ts'
import { TaskRegistry } from '../queue/registry.ts'
import { scheduleManagement } from '../queue/schedules.ts'
import { sendSignal } from '../queue/signals.ts'
import { openStore } from '../store/by-url/open.ts'
import type { PlannedDiscovery } from '../store/ports/rows.ts'
import type { Store } from '../store/ports/store.ts'
import { adoptConnection } from '../store/sqlite/drivers/adopt.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import { Emitter } from '../worker/attempt/events.ts'
import type { Hooks, RunHooks, StepHooks } from '../worker/attempt/hooks.ts'
import type { RunWatch } from '../worker/in-flight.ts'
import { CrashIsolation } from '../worker/isolation/crash-isolation.ts'
import { Keeper, type StartKeeper } from '../worker/keeper/keeper.ts'
import { workerManagement } from '../worker/manage.ts'
import { Worker } from '../worker/worker.ts'
import type { WorkerOptions } from '../worker/worker-options.ts'
import { WorkerReporting } from '../worker/worker-reports.ts'
import { Background } from './background.ts'
import { type Claims, openClaims } from './claims.ts'
import type { ConnectedOptions, Gleaner, GleanerOptions, WorkOptions } from './gleaner.ts'
import { healthManagement } from './health.ts'
import { INSIDE, type Inside } from './inside.ts'
import { bad, checkLimits, checkPostgres, checkTelemetry, checkTimings } from './settings.ts'
import { checkResources, checkWork, sourcesOf } from './work-options.ts'

const HOOKS = declareOptions<Hooks>('hooks', { onFailure: true, aroundRun: true })

export const GLEANER_OPTIONS = declareOptions<GleanerOptions>('openGleaner', {
  database: true,
  postgres: true,
  sqlite: true,
  tasks: true,
  discoveries: true,
  queues: true,
  durability: true,
  payloadLimit: true,
  limits: true,
  retention: true,
  hooks: true,
  telemetry: true,
  timings: true,
})

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

/** The same for a worker process, which brings its own keeper. */
export async function openProcess(
  options: GleanerOptions,
  { beside, ...extras }: Pick<EngineDeps, 'startKeeper'> & { beside?: object } = {},
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

/** What an engine needs from outside. A test brings its own. */
export interface EngineDeps {
  store: Store
  clock: Clock
  random: () => number
  startKeeper?: StartKeeper
  stepHooks?: StepHooks
}

/** A Gleaner with its workers and parts. */
export interface Engine extends Gleaner {
  work(options?: WorkOptions & WorkerIdentity): Worker
  readonly [INSIDE]: Inside
}

/** Which worker it is, when its process has a supervisor. */
interface WorkerIdentity extends Pick<WorkerOptions, 'supervisor' | 'paused'> {
  id?: string
  watch?: RunWatch
  /** Items on which its last processes ended. */
  avoid?: readonly string[]
}

/** The same engine on a store and a clock of the caller. */
export async function openEngine(
  deps: EngineDeps,
  options: Omit<GleanerOptions, 'database' | 'postgres' | 'sqlite'>,
): Promise<Engine> {
  const checked = checkOptions(options)
  return planned(deps, checked, await occurrencesOf(checked.registry, checked.payloadLimit))
}

async function planned(deps: EngineDeps, checked: Checked, occurrences: Occurrences): Promise<Engine> {
  const { store } = deps
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
  return engine(deps, checked, occurrences)
}

/** Nothing can listen for problems yet, so it is a warning of the process. */
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

function engine(deps: EngineDeps, checked: Checked, occurrences: Occurrences): Engine {
  const { store } = deps
  const { registry, durability, retention } = checked
  const shared = sharedOf(deps, checked)
  const { emitter, handles, meter, enqueuer, enqueue, onProblem, hooks } = shared
  const background = new Background({ ...checked, ...shared, occurrences })
  if (checked.queues.length > 0) background.queuesChanged()
  const claims = openClaims({ ...shared, ...checked }, checked, ({ discoveries, remote }) =>
    background.start({ servesRows: discoveries.size > 0, isRemote: remote !== null }),
  )
  const workers: Worker[] = []
  const reporting = reportingOf(shared, workers, checked.timings.metricsMs)
  let closing: Promise<void> | undefined

  const close = () => {
    closing ??= closeAll({ ...shared, background, claims, workers, reporting })
    return closing
  }

  return {
    [INSIDE]: { store, registry, durability, retention, onProblem, tracing: hooks.tracing, claims },
    enqueue,
    enqueueMany: (task, inputs, options) => enqueuer.enqueueMany(task, inputs, options),
    signal: (...signal) => sendSignal(store, checked.stepBytes, signal),
    within: (transaction: any) => enqueuer.within(transaction),
    handle: (task, id) => new TaskHandle(String(id), false, registry.of(task), handles),
    work({ id = `worker:pid${process.pid}:${workers.length}`, ...options } = {}) {
      if (closing !== undefined) throw closedError()
      const { worker, servesRows } = startWorker(shared, checked, { id, ...options })
      workers.push(worker)
      background.start({ servesRows })
      if (!worker.isSupervised && store.sessions.renewal() !== null) reporting.start()
      return worker
    },
    claim: (options) => claims.claim(options),
    ...managementOf(shared, checked, workers),
    schedules: scheduleManagement(handles, registry, occurrences, meter),
    metrics: (options) => metricsOf(store, meter, options),
    pause: () => pauseQueue(store.admin, null),
    resume: () => resumeEverything(store),
    on: (event, listener) => emitter.on(event, listener),
    maintenance: maintenanceManagement({
      store: store.maintenance,
      pruner: background.pruner,
      retention,
      close,
    }),
    close,
  }
}

function batchVerbs(
  { store, clock, enqueuer, handles }: ReturnType<typeof sharedOf>,
  { registry, timings }: Checked,
): Pick<Gleaner, 'batch' | 'batches'> {
  const resultOf = (task: Task, id: string, timeoutMs: number | undefined) =>
    new TaskHandle(id, false, registry.of(task), handles).result(
      timeoutMs === undefined ? {} : { timeout: timeoutMs },
    )
  const batches = new Batches({ store, clock, pollMs: timings.pollMs, enqueuer, resultOf })
  return {
    batch: (name, tasks, options) => batches.start(name, tasks, options),
    batches: batches.management,
  }
}

function managementOf(shared: ReturnType<typeof sharedOf>, checked: Checked, workers: readonly Worker[]) {
  const { store, meter } = shared
  return {
    ...batchVerbs(shared, checked),
    tasks: taskManagement(store, meter),
    queues: queueManagement(store.admin),
    workers: workerManagement(store, () => workers),
    health: healthManagement(store.sessions),
    discoveries: discoveryManagement(store, meter),
  }
}

function reportingOf(
  { store, clock }: ReturnType<typeof sharedOf>,
  workers: readonly Worker[],
  everyMs: number,
): WorkerReporting {
  const unsupervised = () => workers.filter(({ isSupervised }) => !isSupervised)
  return new WorkerReporting(store.sessions, clock, { everyMs, workers: unsupervised })
}

interface Running extends ReturnType<typeof sharedOf> {
  background: Background
  claims: Claims
  workers: readonly Worker[]
  reporting: WorkerReporting
}

async function closeAll({ background, claims, workers, reporting, ...shared }: Running): Promise<void> {
  const { handles, keeper, meter, store } = shared
  background.stop()
  await Promise.all([claims.close(), ...workers.map((worker) => worker.stop())])
  await reporting.stop()
  handles.results.close()
  await background.stopSweeping()
  await keeper.close()
  await meter.close()
  await store.close()
}

/** What all workers and verbs of an engine share. */
function sharedOf({ store, clock, random, startKeeper, stepHooks }: EngineDeps, checked: Checked) {
  const { registry, timings, payloadLimit, stepBytes } = checked
  const emitter = new Emitter()
  const onProblem = (message: string, error: unknown) => emitter.emit('problem', () => ({ message, error }))
  const tracing = checked.telemetry === undefined ? undefined : new Tracing(checked.telemetry, onProblem)
  const hooks: RunHooks = { ...checked.hooks, ...stepHooks, tracing }
  const meter = new Meter(store.admin, clock, timings.metricsMs, store.lock)
  const handles = { store, results: new PendingResults(store, clock, timings.pollMs) }
  const enqueuer = new Enqueuer({ registry, handles, payloadLimit, stepBytes, meter, tracing })
  const enqueue = enqueuer.enqueue.bind(enqueuer) as Enqueue
  const enqueueWithin = (tx: unknown) => (async (...args) => enqueuer.within(tx).enqueue(...args)) as Enqueue
  const keeper = new Keeper(store.sessions.renewal(), timings.leaseMs, onProblem, startKeeper)
  const isolation = new CrashIsolation(clock)
  const verbs = { enqueuer, enqueue, enqueueWithin, handles, childTasks: enqueuer }
  return { store, clock, random, emitter, onProblem, hooks, meter, keeper, isolation, ...verbs }
}

function startWorker(
  shared: ReturnType<typeof sharedOf>,
  checked: Checked,
  { id, supervisor, paused, watch, avoid, ...options }: WorkOptions & WorkerIdentity & { id: string },
) {
  const { payloadLimit, stepBytes, timings } = checked
  const serving = checkWork(options, checked)
  const { capabilities, concurrency, resourceErrorLimit } = serving
  const sources = sourcesOf(serving, shared.store, checked, avoid)
  const limits = { concurrency, resourceErrorLimit, payloadLimit, stepBytes }
  const worker = new Worker(
    { id, supervisor, paused, capabilities, sources, timings, ...limits },
    { ...shared, watch },
  )
  return { worker, servesRows: serving.rows.size > 0 }
}

/** Everything but the database itself. `caller` is who is named when it is no object, or has what there is not. */
export function checkOptions(options: Omit<GleanerOptions, 'database'>, caller = 'openGleaner') {
  if (typeof options !== 'object' || options === null)
    throw bad(caller, options, "Give { database: 'sqlite:…' }.")
  refuseUnknown(options, GLEANER_OPTIONS, caller)
  checkTypes(options, { tasks: 'array', discoveries: 'array' }, '')
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
  refuseUnknown(hooks, HOOKS, 'hooks')
  checkTypes(hooks, { onFailure: 'function', aroundRun: 'function' }, 'hooks')
  const known = { registry: new TaskRegistry(tasks), discoveries: new DiscoveryRegistry(discoveries) }
  checkResources(known)
  const queues = checkQueues(options.queues ?? {})
  return {
    ...known,
    queues,
    limits: [...limitsOf(queues), ...known.registry.limits()],
    durability,
    payloadLimit,
    stepBytes: checkLimits(options.limits ?? {}).stepBytes,
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
