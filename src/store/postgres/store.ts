import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { closedError } from '../../errors.ts'
import type { AdminStore } from '../ports/admin.ts'
import type { Change } from '../ports/change.ts'
import type { PostgresOptions } from '../ports/database.ts'
import { type Effects, type Exchange, hasChanges, type Run } from '../ports/exchange.ts'
import type { Enqueued, NewTask } from '../ports/new-task.ts'
import type { SessionStore } from '../ports/sessions.ts'
import type { Store } from '../ports/store.ts'
import type { TaskStore } from '../ports/tasks.ts'
import { flowStore, type StoredFlows } from '../scripts/flows/index.ts'
import { watchTask } from '../scripts/flows/make.ts'
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
import { postgresHoldings } from './give-back/holdings.ts'
import { giveBackUnreachable } from './give-back/unreachable.ts'
import { countingLimits, freeSlot } from './limits/counters.ts'
import { postgresMaintenance } from './maintenance/maintenance.ts'
import { appliedMigrations, sizes } from './maintenance/sizes.ts'
import { postgresChanging } from './manage/changing.ts'
import { Folding } from './manage/folding.ts'
import { addMetrics } from './manage/metrics.ts'
import { migrate } from './migrations/migrate.ts'
import {
  configureQueues,
  ERA_AGAIN_MS,
  hasNewOrdering,
  needsRerank,
  rerank,
  watchAgain,
} from './order/ordering.ts'
import { DiscoveryCache } from './rows/discovery-cache.ts'
import { postgresRows } from './rows/index.ts'
import { Database } from './server/database.ts'
import { Gathering } from './server/gathering.ts'
import { Listeners } from './server/listeners.ts'
import { driveOn, postgresScripts } from './server/scripts.ts'
import type { TransactionOptions } from './server/settings.ts'
import type { Sql } from './server/sql.ts'
import { ofCallback } from './server/sql-errors.ts'
import { newTasksOf } from './server/task-words.ts'
import { Wakeups } from './server/wakeups.ts'
import { commitDurably, lifeNow, liveUntilCommit, markUseful } from './sessions/live.ts'
import { noteCompared } from './tasks/comparing.ts'
import { insertTasks } from './tasks/enqueue.ts'
import { complete as completeTask, exchangeTasks, precheck } from './tasks/exchange.ts'
import { emptyMemory, type Memory } from './tasks/memory.ts'
import { exchangePlainly } from './tasks/plain-exchange.ts'
import { postgresResuming } from './tasks/resuming.ts'
import { rowid } from './tasks/rowid.ts'
import { advanceVirtualTimes } from './tasks/virtual-times.ts'
import { withinTransaction } from './tasks/within.ts'

export interface PostgresStoreOptions extends PostgresOptions {
  durability?: 'full' | 'normal'
  /** For tests. The server's clock decides otherwise. */
  clock?: Clock
  /** For tests: decides in weighted queues. */
  random?: () => number
}

/** Losing one only means running a task again. */
const EXCHANGING: TransactionOptions = { durable: false, byIndex: true }
/** Steps of putting in order that a process takes on its own account. */
const OWN_STEPS_MAX = 10

export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const database = new Database(options)
  try {
    await migrate(database)
  } catch (error) {
    await database.close()
    throw error
  }
  return postgresStore(database, options)
}

/** What the verbs of a store share. */
interface Core {
  options: PostgresStoreOptions
  database: Database
  sql: Sql
  memory: Memory
  listeners: Listeners
  wakeups: Wakeups
  folding: Folding
  scripts: Scripts
  /** The verbs that change tasks. */
  changing: ChangingTasks
  /** The clock of a test. Null: the server's clock decides. */
  clockMs: () => number | null
  /** What a caller is promised is on disk before the answer. */
  promised: boolean
  read<T>(work: () => Promise<T>): Promise<T>
  write<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Tells listeners of this process, and others by notification. */
  publish(change: Change): void
  /** The same, and flows that may wait for what ended. */
  spread(change: Change): void
  flows: StoredFlows
  /** Resolves when what began before has ended. Nothing begins after it. */
  close(): Promise<unknown>
}

async function coreOf(database: Database, options: PostgresStoreOptions): Promise<Core> {
  const { sql } = database
  const clockMs = () => options.clock?.now() ?? null
  const memory = emptyMemory(database, options, {
    onOutdated: () => void putInOrder(core).catch(() => {}),
    onNewLife: () => void core.read(() => giveBackUnreachable(database, memory, clockMs())).catch(() => {}),
  })
  const listeners = new Listeners(database, options)
  const wakeups = new Wakeups(options, sql, listeners.tell, database.network)
  if (options.notify !== false) await wakeups.listen()
  const folding = new Folding(database, clockMs)
  const promised = options.durability !== 'normal'
  const access = accessTo(database, folding, promised)
  const publish = (change: Change) => {
    listeners.tell(change)
    wakeups.announce(change.kind === 'ended' ? 'ended' : 'work')
  }
  const spread = (change: Change) => {
    publish(change)
    if (change.kind === 'ended') core.flows.noticed()
  }
  const withoutFlows = {
    ...{ options, database, sql, memory, listeners, wakeups, folding, clockMs, promised, publish, spread },
    ...access,
    scripts: postgresScripts({ sql, clockMs, promised, spread, ...access }),
    changing: postgresChanging(memory),
  }
  const core: Core = { ...withoutFlows, flows: flowsOf(withoutFlows) }
  return core
}

function flowsOf(core: Omit<Core, 'flows'>): StoredFlows {
  const { sql, memory, scripts, changing, clockMs, read } = core
  return flowStore(scripts, {
    settling: {
      db: scripts.db,
      keyHolders: changing.keyHolders,
      insert: (tasks) => native((own: Sql) => insertTasks(own, memory, tasks, clockMs(), null)),
      changing,
      resuming: postgresResuming(memory),
    },
    prepare: (tasks) => read(() => memory.lanes.learn(tasks)),
    writeAlone: (script) => scripts.write(script),
    watch: (task) => read(() => driveOn(sql, watchTask(task))),
    rowid: (id) => Number(rowid(id)),
  })
}

/** Reads and writes. What was asked for before the store was closed is still done. */
function accessTo(
  database: Database,
  folding: Folding,
  promised: boolean,
): Pick<Core, 'read' | 'write' | 'close'> {
  let closed = false
  const underWay = new Set<Promise<unknown>>()
  const read = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(closedError())
    const working = work()
    underWay.add(working)
    const done = () => underWay.delete(working)
    working.then(done, done)
    return working
  }
  return {
    read,
    write: (work, options = { durable: promised }) => {
      folding.worked()
      return read(() => database.transaction(work, options))
    },
    close() {
      closed = true
      return Promise.allSettled(underWay)
    },
  }
}

/** Each verb: one transaction, or one statement. */
async function postgresStore(database: Database, options: PostgresStoreOptions): Promise<Store> {
  const core = await coreOf(database, options)
  const { sql, memory, listeners, folding, scripts, read } = core
  const book = new DiscoveryCache(database)
  const stops = [() => folding.stop()]
  const { repairRows, ...rows } = postgresRows({
    ...core,
    ...{ book, life: memory.life, tell: listeners.tell, stops },
    wakeTriggers: options.wakeTriggers === true,
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    const settled = core.close()
    for (const stop of stops) stop()
    listeners.close()
    await settled
    await core.wakeups.close()
    await database.close()
  }
  return {
    remote: true,
    lock: null,
    tasks: tasksOf(core),
    sessions: sessionsOf(core, postgresHoldings(memory, book)),
    rows,
    flows: core.flows.flows,
    steps: stepStore(scripts, postgresResuming(memory), (id) => Number(rowid(id))),
    admin: adminOf(core),
    maintenance: {
      ...postgresMaintenance({ ...core, address: options }),
      rerank: () => stepInOrder(core),
      repairRows,
      sizes: () => read(() => sizes(sql)),
      migrations: () => read(() => appliedMigrations(sql)),
    },
    onChange: (listener, hears) => listeners.add(listener, hears),
    close: () => (closing ??= close()),
  }
}

function tasksOf(core: Core): TaskStore {
  const { options, sql, memory, scripts, changing, flows, clockMs, read } = core
  const enqueueing = new Gathering<NewTask, Enqueued>(inserting(core))
  return {
    enqueue: (tasks) =>
      tasks[0]?.after === undefined ? read(() => enqueueing.add(tasks)) : flows.enqueueAfter(tasks),
    within: (transaction) =>
      withinTransaction(transaction, sql, memory, { clockMs, notify: options.notify !== false }),
    exchange: exchanging(core),
    completeWith: (session, run, result, effects) =>
      completeWith(core, { ...run, session: rowid(session), result }, effects),
    ...managingTasks(scripts, changing, flows.noticed),
    ...insight(scripts, changing).tasks,
  }
}

function inserting(core: Core): (tasks: readonly NewTask[]) => Promise<Enqueued[]> {
  const { database, memory, listeners, wakeups, folding, clockMs, promised } = core
  return async (tasks) => {
    folding.worked()
    const news = newTasksOf(tasks)
    const saying = wakeups.saying(news)
    let answers: Enqueued[]
    // Tasks without keys need no transaction of several statements.
    if (promised && tasks.every((task) => task.key === null && task.limitKey === undefined))
      answers = await insertTasks(database.prepared, memory, tasks, clockMs(), saying)
    else {
      await memory.lanes.learn(tasks)
      answers = await database.transaction((own) => insertTasks(own, memory, tasks, clockMs(), saying), {
        durable: promised,
      })
    }
    listeners.tell({ kind: 'work' })
    if (saying === null) wakeups.announce('work', news)
    return answers
  }
}

function exchanging(core: Core): TaskStore['exchange'] {
  const { database, memory, listeners, folding, clockMs, read, publish, spread, flows } = core
  const { batches } = memory
  return async (asked) => {
    const exchange = { ...asked, session: rowid(asked.session) }
    const expected = exchange.want !== null && listeners.expected()
    if (!hasChanges(exchange) && !expected) {
      const answer = await read(() => precheck(database.between, memory, exchange, clockMs()))
      if (answer !== null) return answer
    }
    folding.worked()
    const spent = batches.spent(exchange)
    const stepByStep = (one: Exchange, over: readonly number[]) =>
      database.inSteps((own) => exchangeTasks(own, memory, one, over, clockMs()), EXCHANGING)
    const { answer, ended, requeued, heard, comparedIn, isAwaited } = await read(() =>
      exchangePlainly(database, memory, exchange, spent, clockMs(), EXCHANGING, stepByStep),
    )
    if (comparedIn !== undefined) await noteCompared(memory, exchange.session, comparedIn)
    batches.exchanged(exchange, answer, spent)
    if (ended.length > 0) (isAwaited ? publish : listeners.tell)({ kind: 'ended', ids: ended })
    if (heard) flows.noticed()
    if (requeued) spread({ kind: 'work' })
    return answer
  }
}

interface CompletedRun extends Run {
  session: string
  result: string | null
}

/** The effects of the handler and the completion in one transaction. */
async function completeWith(core: Core, run: CompletedRun, effects: Effects): Promise<boolean> {
  const { memory, promised, clockMs, write, spread } = core
  const { session, result } = run
  let freed = false
  const complete = async (own: Sql) => {
    const moment = await liveUntilCommit(own, session)
    if (!moment.live) return false
    const done = await completeTask(own, session, run, result, clockMs() ?? moment.now)
    if (done === null) return false
    const begun = memory.weightedEntries.begun({ starts: [run], outcomes: [] })
    await advanceVirtualTimes(own, memory.queues, session, begun)
    await effects(ofCallback(own.raw))
    freed = done.freed
    if (moment.limited && (await freeSlot(own, done.lane))) freed = true
    // Last: it locks the session's row, and the keeper would wait for as long as the effects take.
    await markUseful(own, session)
    return true
  }
  const completed = await write(complete, { durable: promised, runsUserSql: true })
  memory.batches.settled(session, [run])
  if (completed) spread({ kind: 'ended', ids: [run.id] })
  if (completed && freed) spread({ kind: 'work' })
  return completed
}

function sessionsOf(core: Core, holdings: Holdings): SessionStore {
  const { options, memory, wakeups, scripts, write, spread } = core
  return {
    async openSession(session) {
      const { id, life } = await write(async (own) => {
        await commitDurably(own)
        return { id: await driveOn(own, insertSession(scripts.db, session)), life: await lifeNow(own) }
      })
      memory.life.opened(id, life ?? (await memory.life.begin()))
      // A session for claims by hand takes no task that a notification offers.
      if (session.pulls === undefined) wakeups.neighbours.opened(id)
      return id
    },
    liveSessions: async () => wakeups.neighbours.saw(await scripts.read(() => readLiveSessions(scripts.db))),
    // Differs because PostgreSQL needs no transaction for it: see `advanceLeaseClock`.
    advanceLeaseClock: (leaseMs) => scripts.read(() => advanceLeaseClock(scripts.db, leaseMs)),
    async renewSession(id, leaseMs) {
      const alive = await scripts.read(() => renewSessions(scripts.db, [rowid(id)], leaseMs))
      return alive.length > 0
    },
    heldClaim: (claim) => scripts.read(() => readHeldClaim(claim)),
    async endSession(id, cause, known) {
      const which = { id: Number(rowid(id)), cause, known }
      const end = await scripts.writeCheaply(() => endSession(scripts.db, holdings, which))
      memory.batches.ended(rowid(id))
      memory.life.ended(id)
      wakeups.neighbours.ended(id)
      if (end === null) return null
      const { ended, freed, ...answer } = end
      if (ended.length > 0) spread({ kind: 'ended', ids: ended })
      if (answer.returned > 0 || freed) spread({ kind: 'work' })
      return answer
    },
    renewal: () => {
      const { clock: _, durability: __, random: ___, ...plain } = options
      return { store: 'postgres', options: plain }
    },

    ...supervision(scripts),
    ...insight(scripts, core.changing).sessions,
  }
}

function adminOf(core: Core): AdminStore {
  const { database, sql, memory, scripts, clockMs, read, write, spread } = core
  const { lanes, queues } = memory
  return {
    ...managingQueues(scripts),
    async configureQueues(settings) {
      if (!(await read(() => hasNewOrdering(sql, queues, settings)))) return
      while (!(await write((own) => configureQueues(own, memory, settings)))) {
        if (await stepInOrder(core)) continue
        await read(() => watchAgain(sql))
        await setTimeout(ERA_AGAIN_MS)
      }
      await read(() => queues.refresh())
      spread({ kind: 'work' })
    },

    planLimits: (planned) => planLimits(scripts, countingLimits, planned),
    ...recurring(scripts, {
      prepare: (tasks) => read(() => lanes.learn(tasks)),
      insert: (task) =>
        native(async (own: Sql) => (await insertTasks(own, memory, [task], clockMs(), null))[0]!),
    }),

    ...insight(scripts, core.changing).admin,
    addMetrics: (measured) => read(() => addMetrics(database, scripts.db, measured, clockMs())),
  }
}

/** Puts some tasks into the order that their queue has now. True: there may be more. */
async function stepInOrder({ sql, memory, read, write }: Core): Promise<boolean> {
  if (!(await read(() => needsRerank(sql, memory)))) return false
  return write((own) => rerank(own, memory), { durable: false, byIndex: true })
}

/** After this process enqueued by a former order. If it fails, another process sees it. */
async function putInOrder(core: Core): Promise<void> {
  await core.read(() => watchAgain(core.sql))
  for (let step = 0; step < OWN_STEPS_MAX && (await stepInOrder(core)); step++);
}
