import { type Clock, systemClock } from '../../clock.ts'
import { closedError } from '../../errors.ts'
import type { Change } from '../ports/change.ts'
import type { SqliteLibrary } from '../ports/database.ts'
import { type Exchange, type Exchanged, hasChanges } from '../ports/exchange.ts'
import type { NewTask } from '../ports/new-task.ts'
import type { Store } from '../ports/store.ts'
import { flowStore } from '../scripts/flows/index.ts'
import { readHeldClaim } from '../scripts/held-claim.ts'
import { insight } from '../scripts/insight.ts'
import { planLimits } from '../scripts/limits.ts'
import { managingQueues } from '../scripts/manage-queues.ts'
import { managingTasks } from '../scripts/manage-tasks.ts'
import { advanceLeaseClock, renewSessions } from '../scripts/renewing.ts'
import { recurring } from '../scripts/schedules.ts'
import { endSession, insertSession, readLiveSessions } from '../scripts/sessions.ts'
import { stepStore } from '../scripts/steps.ts'
import { supervision } from '../scripts/supervision.ts'
import { native } from '../sql/script.ts'
import { rowid } from '../task-row.ts'
import type { SqliteTuning } from './drivers/driver.ts'
import { loadDriver } from './drivers/load.ts'
import { refuseSecondLibrary } from './drivers/second-library.ts'
import { Checkpoints } from './file/checkpoints.ts'
import { Connection, type Durability } from './file/connection.ts'
import { migrate } from './file/migrate.ts'
import { driveOn, sqliteScripts } from './file/scripts.ts'
import { Waking } from './file/waking.ts'
import { Writer } from './file/writer.ts'
import { countingLimits } from './limits/counters.ts'
import { sqliteMaintenance } from './maintenance/maintenance.ts'
import { appliedMigrations, sizes } from './maintenance/sizes.ts'
import { sqliteChanging } from './manage/changing.ts'
import { addMetrics } from './manage/metrics.ts'
import { sqliteResuming } from './manage/resuming.ts'
import { emptyMemory } from './memory.ts'
import { configureQueues, hasNewOrdering, needsRerank, rerank } from './order/ordering.ts'
import { sqliteRows } from './rows/index.ts'
import { sqliteHoldings } from './sessions/holdings.ts'
import { isLive, markUseful } from './sessions/live.ts'
import { advanceVirtualTimes, reserveFences } from './tasks/claim.ts'
import { complete } from './tasks/complete.ts'
import { runEffects } from './tasks/effects.ts'
import { type Intended, insertTasks } from './tasks/enqueue.ts'
import { exchangeTasks, precheck } from './tasks/exchange.ts'
import { Intake } from './tasks/intake.ts'
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

/** Each verb: one function on prepared statements, in one transaction. */
function sqliteStore(connection: Connection, clock: Clock, options: SqliteOptions): Store {
  const db = connection.statements
  const random = options.random ?? Math.random
  const memory = emptyMemory(db, random)
  const { lanes, queues } = memory
  const inMemory = options.path === ':memory:'
  const waking = new Waking(connection, inMemory)
  const checkpoints = new Checkpoints(connection)
  const writer = new Writer(connection, {
    busyLimitMs: options.busyLimitMs ?? BUSY_LIMIT_MS,
    onRollback: () => {
      lanes.forget()
      queues.forget()
    },
    onCommit: (durability) => {
      if (!inMemory) checkpoints.committed(durability)
    },
  })
  /** What a caller is promised is on disk when he is answered. */
  const promised: Durability = options.durability ?? 'full'
  const tell = (change: Change) => {
    waking.tell(change)
    if (change.kind === 'ended') noticed()
  }
  const intended: Intended = { placeOf: (task: NewTask) => lanes.placeOf(task), queues }
  const ours: OurDatabase = {
    path: options.path,
    driver: connection.driver,
    connections: new WeakSet([connection.raw]),
    random,
    onEnqueued: (transaction) => waking.enqueuedIn(transaction),
  }
  let closed = false

  const read = <T>(look: () => T): Promise<T> =>
    closed ? Promise.reject(closedError()) : connection.snapshot(look)
  const write = <T>(durability: Durability, change: () => T, isolated = false): Promise<T> =>
    closed ? Promise.reject(closedError()) : writer.write(durability, change, isolated)
  const scripts = sqliteScripts({
    db,
    now: clock.now,
    promised,
    read,
    write,
    tell,
    runEffects: (effects) => runEffects(connection, ours, effects),
  })
  const holdings = sqliteHoldings(memory)
  const changing = sqliteChanging(memory)
  const intake = new Intake(
    (tasks) => write(promised, () => insertTasks(db, tasks(), clock.now(), intended)),
    () => tell({ kind: 'work' }),
  )
  const stepInOrder = async (): Promise<boolean> => {
    if (!(await read(() => needsRerank(db, memory)))) return false
    return write('normal', () => rerank(db, memory))
  }
  /** Inside the transaction of a claim: `claims` of what a worker wanted were there. */
  const heed = (session: string, want: { start: number } | null, claims: number) =>
    waking.asked(session, want, claims)
  const { settled, ...maintenance } = sqliteMaintenance({
    connection,
    memory,
    scripts,
    now: clock.now,
    read,
    write,
  })

  const { flows, noticed, enqueueAfter } = flowStore(scripts, {
    settling: {
      db: scripts.db,
      keyHolders: changing.keyHolders,
      insert: (tasks) => native(() => insertTasks(db, tasks, clock.now(), intended)),
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
  const looking = insight(scripts, changing)
  const { repairRows, ...rows } = sqliteRows({
    connection,
    memory: memory.rows,
    scripts,
    ours,
    now: clock.now,
    promised,
    read,
    write,
    tell,
    heed,
  })

  return {
    remote: false,
    tasks: {
      enqueue: (tasks) => (tasks[0]?.after === undefined ? intake.add(tasks) : enqueueAfter(tasks)),
      within: (transaction) => withinTransaction(transaction, ours, clock.now),

      async exchange(exchange: Exchange): Promise<Exchanged> {
        const looks = !hasChanges(exchange)
        if (looks) {
          heed(exchange.session, exchange.want, 0)
          const answer = await read(() => precheck(db, memory, exchange, clock.now()))
          if (answer !== null) return answer
        }
        const { answer, ended, requeued, heard } = await write('normal', () => {
          const effect = exchangeTasks(db, memory, exchange, clock.now())
          heed(exchange.session, exchange.want, effect.answer.claims.length)
          return effect
        })
        if (ended.length > 0) waking.tell({ kind: 'ended', ids: ended })
        if (requeued) tell({ kind: 'work' })
        if (heard) noticed()
        // There was something, until somebody else had the lock.
        if (looks && answer.claims.length === 0) answer.conflicts = 1
        return answer
      },
      async completeWith(session, run, result, effects) {
        let moreToDo = false
        const completed = await write(
          promised,
          () => {
            const now = clock.now()
            const completion = { ...run, outcome: { kind: 'completed', result } } as const
            if (!isLive(db, Number(session))) return false
            if (!complete(db, Number(session), completion, now)) return false
            advanceVirtualTimes(queues, memory.weightedEntries.begun({ starts: [run], outcomes: [] }))
            const enqueued = runEffects(connection, ours, effects)
            const tally = new Tally()
            lanes.countCompleted([completion], tally)
            moreToDo = tally.write(db) || enqueued
            markUseful(db, Number(session))
            return true
          },
          true,
        )
        if (completed) tell({ kind: 'ended', ids: [run.id] })
        if (completed && moreToDo) tell({ kind: 'work' })
        return completed
      },

      ...managingTasks(scripts, changing, noticed),
      ...looking.tasks,
    },

    sessions: {
      // On disk before its first claim: see `reserveFences`.
      openSession: (session) =>
        write('full', () => {
          reserveFences(db)
          return driveOn(db, insertSession(scripts.db, session))
        }),
      async liveSessions() {
        const sessions = await scripts.read(() => readLiveSessions(scripts.db))
        waking.workers = sessions.length
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
        inMemory ? null : { store: 'sqlite', path: options.path, library: connection.driver.library },

      ...supervision(scripts),
      ...looking.sessions,
    },

    rows,
    flows,
    steps: stepStore(scripts, sqliteResuming(memory), rowid),
    admin: {
      ...managingQueues(scripts),
      async configureQueues(settings) {
        // Looks before it locks: almost every open finds nothing to do.
        if (!(await read(() => hasNewOrdering(memory, settings)))) return
        while (!(await write(promised, () => configureQueues(db, memory, settings)))) await stepInOrder()
      },

      planLimits: (planned) => planLimits(scripts, countingLimits, planned),
      ...recurring(scripts, {
        prepare: async () => {},
        insert: (task) => native(() => insertTasks(db, [task], clock.now(), intended)[0]!),
      }),

      ...looking.admin,
      addMetrics: (measured) => write('normal', () => addMetrics(db, scripts.db, measured, clock.now())),
    },

    maintenance: {
      ...maintenance,
      rerank: stepInOrder,
      repairRows,
      sizes: () => read(() => sizes(db)),
      migrations: () => read(() => appliedMigrations(db)),
    },

    onChange: (listener, hears = 'commits') => waking.listen(listener, hears),
    async close() {
      if (closed) return
      closed = true
      waking.close()
      await writer.settled()
      writer.close()
      checkpoints.close()
      await settled()
      connection.close()
      if (!connection.isLogThere()) waking.removeFile()
    },
  }
}
