import { type Clock, systemClock } from '../../clock.ts'
import { closedError } from '../../errors.ts'
import type { AdminStore } from '../ports/admin.ts'
import type { Change } from '../ports/change.ts'
import type { SqliteLibrary } from '../ports/database.ts'
import { type Effects, hasChanges } from '../ports/exchange.ts'
import type { NewTask } from '../ports/new-task.ts'
import type { SessionStore } from '../ports/sessions.ts'
import type { Store } from '../ports/store.ts'
import type { TaskStore } from '../ports/tasks.ts'
import { flowStore, type StoredFlows } from '../scripts/flows/index.ts'
import { readHeldClaim } from '../scripts/held-claim.ts'
import { insight } from '../scripts/insight.ts'
import { planLimits } from '../scripts/limits.ts'
import { managingQueues } from '../scripts/manage-queues.ts'
import { managingTasks } from '../scripts/manage-tasks.ts'
import { advanceLeaseClock, renewSessions } from '../scripts/renewing.ts'
import { recurring } from '../scripts/schedules.ts'
import { endSession, type Holdings, insertSession, readLiveSessions } from '../scripts/sessions.ts'
import { stepStore } from '../scripts/steps.ts'
import { supervision } from '../scripts/supervision.ts'
import type { ChangingTasks } from '../scripts/task-changes.ts'
import { native } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { rowid } from '../task-row.ts'
import type { SqliteTuning } from './drivers/driver.ts'
import { loadDriver } from './drivers/load.ts'
import { refuseSecondLibrary } from './drivers/second-library.ts'
import { Checkpoints } from './file/checkpoints.ts'
import { Connection, type Durability } from './file/connection.ts'
import { driveOn, sqliteScripts } from './file/scripts.ts'
import type { Statements } from './file/statements.ts'
import { Waking } from './file/waking.ts'
import { Writer } from './file/writer.ts'
import { sqliteHoldings } from './give-back/holdings.ts'
import { countingLimits } from './limits/counters.ts'
import { runJob } from './maintenance/jobs.ts'
import { sqliteMaintenance } from './maintenance/maintenance.ts'
import { appliedMigrations, sizes } from './maintenance/sizes.ts'
import { sqliteChanging } from './manage/changing.ts'
import { addMetrics } from './manage/metrics.ts'
import { migrate } from './migrations/migrate.ts'
import { configureQueues, hasNewOrdering, needsRerank, rerank } from './order/ordering.ts'
import { DiscoveryCache } from './rows/discovery-cache.ts'
import { sqliteRows } from './rows/index.ts'
import { isLive, markUseful } from './sessions/live.ts'
import { advanceVirtualTimes, reserveFences } from './tasks/claim.ts'
import { type Completion, complete } from './tasks/complete.ts'
import { runEffects } from './tasks/effects.ts'
import { type Intended, insertTasks } from './tasks/enqueue.ts'
import { exchangeTasks, precheck } from './tasks/exchange.ts'
import { Intake } from './tasks/intake.ts'
import { emptyMemory, type Memory } from './tasks/memory.ts'
import { sqliteResuming } from './tasks/resuming.ts'
import { Tally } from './tasks/tally.ts'
import { type OurDatabase, withinTransaction } from './tasks/within.ts'

export interface SqliteOptions extends SqliteTuning {
  /** A file, or `:memory:`. */
  path: string
  /** Which SQLite library opens it. */
  library?: SqliteLibrary | undefined
  /** A connection of the app's to the same file, of the same library. */
  beside?: object | undefined
  durability?: Durability
  clock?: Clock
  /** For tests: decides in weighted queues. */
  random?: () => number
}

const BUSY_LIMIT_MS = 60_000

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { path, library, beside } = options
  const isKnown = beside !== undefined && loadDriver(library).adopt(beside) !== null
  if (!isKnown) refuseSecondLibrary(path, loadDriver(library))
  return openSqliteStoreOn(new Connection(path, { library }), options)
}

/** On a connection that others use as well. The store closes it. */
export async function openSqliteStoreOn(connection: Connection, options: SqliteOptions): Promise<Store> {
  const clock = options.clock ?? systemClock
  try {
    await connection.configure(options)
    await migrate(connection, clock.now)
    connection.guardFiles()
  } catch (error) {
    connection.close()
    throw error
  }
  return sqliteStore(connection, clock, options)
}

/** What the verbs of a store share. */
interface Core {
  options: SqliteOptions
  connection: Connection
  db: Statements
  now: () => number
  memory: Memory
  waking: Waking
  scripts: Scripts
  /** The verbs that change tasks. */
  changing: ChangingTasks
  ours: OurDatabase
  intended: Intended
  flows: StoredFlows
  /** What a caller is promised is on disk before the answer. */
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T, isolated?: boolean) => Promise<T>
  tell: (change: Change) => void
  /** Inside the transaction of a claim: `claims` of what a worker wanted were there. */
  heed: (session: string, want: { start: number } | null, claims: number) => void
  close: () => Promise<void>
}

function coreOf(connection: Connection, clock: Clock, options: SqliteOptions): Core {
  const { now } = clock
  const db = connection.statements
  const memory = emptyMemory(db, options.random ?? Math.random)
  const waking = new Waking(connection, options.path === ':memory:')
  const promised: Durability = options.durability ?? 'full'
  const tell = (change: Change) => {
    waking.tell(change)
    if (change.kind === 'ended') core.flows.noticed()
  }
  const ours: OurDatabase = {
    path: options.path,
    driver: connection.driver,
    connections: new WeakSet([connection.raw]),
    random: options.random ?? Math.random,
    onEnqueued: (transaction) => waking.enqueuedIn(transaction),
  }
  const access = accessTo(connection, memory, waking, options)
  const effectsOf = (effects: Effects) => runEffects(connection, ours, effects)
  const withoutFlows = {
    ...{ options, connection, db, now, memory, waking, ours, promised, tell },
    ...access,
    scripts: sqliteScripts({ db, now, promised, tell, ...access, runEffects: effectsOf }),
    changing: sqliteChanging(memory),
    intended: { placeOf: (task: NewTask) => memory.lanes.placeOf(task), queues: memory.queues },
    heed: waking.asked.bind(waking),
  }
  const core: Core = { ...withoutFlows, flows: flowsOf(withoutFlows) }
  return core
}

function flowsOf(core: Omit<Core, 'flows'>): StoredFlows {
  const { db, memory, scripts, changing, intended, promised, now, write } = core
  return flowStore(scripts, {
    settling: {
      db: scripts.db,
      keyHolders: changing.keyHolders,
      insert: (tasks) => native(() => insertTasks(db, tasks, now(), intended)),
      changing,
      resuming: sqliteResuming(memory),
    },
    prepare: async () => {},
    // An error undoes this change alone, and not what else was written in this turn of the event loop.
    writeAlone: (script) => write(promised, () => driveOn(db, script()), true),
    // Differs because the transaction that follows has the only write lock.
    watch: async () => {},
    rowid,
  })
}

/** Reads and writes, until the store is closed. */
function accessTo(
  connection: Connection,
  { lanes, queues }: Memory,
  waking: Waking,
  { path, busyLimitMs = BUSY_LIMIT_MS }: SqliteOptions,
): Pick<Core, 'read' | 'write' | 'close'> {
  const checkpoints = new Checkpoints(connection)
  const writer = new Writer(connection, {
    busyLimitMs,
    workers: () => waking.counted ?? Number.POSITIVE_INFINITY,
    onRollback: () => {
      lanes.forget()
      queues.forget()
    },
    onCommit: (durability) => {
      if (path !== ':memory:') checkpoints.committed(durability)
    },
  })
  let closed = false
  return {
    read: (look) => (closed ? Promise.reject(closedError()) : connection.snapshot(look)),
    write: (durability, change, isolated = false) =>
      closed ? Promise.reject(closedError()) : writer.write(durability, change, isolated),
    async close() {
      closed = true
      await writer.settled()
      writer.close()
      checkpoints.close()
    },
  }
}

/** Each verb: one function on prepared statements, in one transaction. */
function sqliteStore(connection: Connection, clock: Clock, options: SqliteOptions): Store {
  const core = coreOf(connection, clock, options)
  const { db, memory, waking, scripts, read } = core
  const discoveries = new DiscoveryCache(db)
  const { settled, ...maintenance } = sqliteMaintenance(core)
  const { repairRows, ...rows } = sqliteRows({
    ...core,
    memory: { book: discoveries, served: null },
    countAside: (source, at) =>
      runJob(
        { kind: 'count-rows', database: options.path, source, now: at },
        undefined,
        connection.driver.library,
      ),
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    waking.close()
    await core.close()
    await settled()
    connection.close()
    if (!connection.isLogThere()) waking.removeFile()
  }
  return {
    remote: false,
    lock: connection.lock,
    tasks: tasksOf(core),
    sessions: sessionsOf(core, sqliteHoldings(memory, discoveries)),
    rows,
    flows: core.flows.flows,
    steps: stepStore(scripts, sqliteResuming(memory), rowid),
    admin: adminOf(core),
    maintenance: {
      ...maintenance,
      rerank: () => stepInOrder(core),
      repairRows,
      sizes: () => read(() => sizes(db)),
      migrations: () => read(() => appliedMigrations(db)),
    },
    onChange: (listener, hears = 'commits') => waking.listen(listener, hears),
    close: () => (closing ??= close()),
  }
}

function tasksOf(core: Core): TaskStore {
  const { db, now, intended, promised, write, tell } = core
  const intake = new Intake(
    (tasks) => write(promised, () => insertTasks(db, tasks(), now(), intended)),
    () => tell({ kind: 'work' }),
  )
  return {
    enqueue: (tasks) => (tasks[0]?.after === undefined ? intake.add(tasks) : core.flows.enqueueAfter(tasks)),
    within: (transaction) => withinTransaction(transaction, core.ours, now),
    exchange: exchanging(core),
    completeWith: (session, run, result, effects) =>
      completeWith(core, { ...run, outcome: { kind: 'completed', result } }, Number(session), effects),
    ...managingTasks(core.scripts, core.changing, core.flows.noticed),
    ...insight(core.scripts, core.changing).tasks,
  }
}

function exchanging(core: Core): TaskStore['exchange'] {
  const { db, memory, now, read, write, tell, heed, waking, flows } = core
  return async (exchange) => {
    const looks = !hasChanges(exchange)
    if (looks) {
      heed(exchange.session, exchange.want, 0)
      const answer = await read(() => precheck(db, memory, exchange, now()))
      if (answer !== null) return answer
    }
    const { answer, ended, requeued, heard } = await write('normal', () => {
      const effect = exchangeTasks(db, memory, exchange, now())
      heed(exchange.session, exchange.want, effect.answer.claims.length)
      return effect
    })
    if (ended.length > 0) waking.tell({ kind: 'ended', ids: ended })
    if (requeued) tell({ kind: 'work' })
    if (heard) flows.noticed()
    // There was something, until another process had the lock.
    if (looks && answer.claims.length === 0) answer.conflicts = 1
    return answer
  }
}

/** The effects of the handler and the completion in one transaction. */
async function completeWith(
  core: Core,
  completion: Completion,
  session: number,
  effects: Effects,
): Promise<boolean> {
  const { connection, db, memory, ours, promised, write, tell } = core
  let moreToDo = false
  const completeIn = () => {
    if (!isLive(db, session)) return false
    if (!complete(db, session, completion, core.now())) return false
    advanceVirtualTimes(memory.queues, memory.weightedEntries.begun({ starts: [completion], outcomes: [] }))
    const enqueued = runEffects(connection, ours, effects)
    const tally = new Tally()
    memory.lanes.countCompleted([completion], tally)
    moreToDo = tally.write(db) || enqueued
    markUseful(db, session)
    return true
  }
  const completed = await write(promised, completeIn, true)
  if (completed) tell({ kind: 'ended', ids: [completion.id] })
  if (completed && moreToDo) tell({ kind: 'work' })
  return completed
}

function sessionsOf(core: Core, holdings: Holdings): SessionStore {
  const { options, connection, db, scripts, waking, write, tell } = core
  return {
    // On disk before its first claim: see `reserveFences`.
    openSession: (session) =>
      write('full', () => {
        reserveFences(db)
        return driveOn(db, insertSession(scripts.db, session))
      }),
    async liveSessions() {
      const sessions = await scripts.read(() => readLiveSessions(scripts.db))
      waking.counted = sessions.length
      return sessions
    },
    advanceLeaseClock: (leaseMs) => scripts.writeCheaply(() => advanceLeaseClock(scripts.db, leaseMs)),
    async renewSession(id, leaseMs) {
      const alive = await scripts.writeCheaply(() => renewSessions(scripts.db, [id], leaseMs))
      return alive.length > 0
    },
    heldClaim: (claim) => scripts.read(() => readHeldClaim(claim)),
    async endSession(id, cause, known) {
      const which = { id: rowid(id), cause, known }
      const end = await scripts.writeCheaply(() => endSession(scripts.db, holdings, which))
      waking.left(id)
      if (end === null) return null
      const { ended, freed, ...answer } = end
      if (ended.length > 0) tell({ kind: 'ended', ids: ended })
      if (answer.returned > 0 || freed) tell({ kind: 'work' })
      return answer
    },
    renewal: () =>
      options.path === ':memory:'
        ? null
        : { store: 'sqlite', path: options.path, library: connection.driver.library },

    ...supervision(scripts),
    ...insight(scripts, core.changing).sessions,
  }
}

function adminOf(core: Core): AdminStore {
  const { db, memory, scripts, now, intended, promised, read, write } = core
  return {
    ...managingQueues(scripts),
    async configureQueues(settings) {
      // Looks before it locks: almost every open finds nothing to do.
      if (!(await read(() => hasNewOrdering(memory, settings)))) return
      while (!(await write(promised, () => configureQueues(db, memory, settings)))) await stepInOrder(core)
    },

    planLimits: (planned) => planLimits(scripts, countingLimits, planned),
    ...recurring(scripts, {
      prepare: async () => {},
      insert: (task) => native(() => insertTasks(db, [task], now(), intended)[0]!),
    }),

    ...insight(scripts, core.changing).admin,
    addMetrics: (measured) => write('normal', () => addMetrics(db, scripts.db, measured, now())),
  }
}

/** Puts some tasks into the order that their queue has now. True: there may be more. */
async function stepInOrder({ db, memory, read, write }: Core): Promise<boolean> {
  if (!(await read(() => needsRerank(db, memory)))) return false
  return write('normal', () => rerank(db, memory))
}
