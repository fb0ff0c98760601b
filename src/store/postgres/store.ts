import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { closedError } from '../../errors.ts'
import type { Change } from '../ports/change.ts'
import type { PostgresOptions } from '../ports/database.ts'
import { type Exchange, hasChanges } from '../ports/exchange.ts'
import type { Enqueued, NewTask } from '../ports/new-task.ts'
import type { Store } from '../ports/store.ts'
import { flowStore } from '../scripts/flows/index.ts'
import { watchTask } from '../scripts/flows/make.ts'
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
import { countingLimits, freeSlot } from './limits/counters.ts'
import { postgresMaintenance } from './maintenance/maintenance.ts'
import { appliedMigrations, sizes } from './maintenance/sizes.ts'
import { giveBackUnreachable } from './maintenance/unreachable.ts'
import { postgresChanging } from './manage/changing.ts'
import { Folding } from './manage/folding.ts'
import { addMetrics } from './manage/metrics.ts'
import { postgresResuming } from './manage/resuming.ts'
import { emptyMemory } from './memory.ts'
import {
  configureQueues,
  ERA_AGAIN_MS,
  hasNewOrdering,
  needsRerank,
  rerank,
  watchAgain,
} from './order/ordering.ts'
import { advanceVirtualTimes } from './order/virtual-times.ts'
import { postgresRows } from './rows/index.ts'
import { Database } from './server/database.ts'
import { Gathering } from './server/gathering.ts'
import { Listeners } from './server/listeners.ts'
import { migrate } from './server/migrate.ts'
import { driveOn, postgresScripts } from './server/scripts.ts'
import { serverTime } from './server/server-time.ts'
import type { TransactionOptions } from './server/settings.ts'
import type { Sql } from './server/sql.ts'
import { ofCallback } from './server/sql-errors.ts'
import { newTasksOf } from './server/task-words.ts'
import { type Saying, Wakeups } from './server/wakeups.ts'
import { noteCompared } from './sessions/comparing.ts'
import { postgresHoldings } from './sessions/holdings.ts'
import { commitDurably, lifeNow, liveUntilCommit, markUseful } from './sessions/live.ts'
import { insertTasks } from './tasks/enqueue.ts'
import { complete, exchangeTasks, precheck } from './tasks/exchange.ts'
import { exchangePlainly } from './tasks/plain-exchange.ts'
import { rowid } from './tasks/rowid.ts'
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

/** Each verb: one transaction, or one statement. */
async function postgresStore(database: Database, options: PostgresStoreOptions): Promise<Store> {
  const { sql } = database
  const memory = emptyMemory(database, options, {
    onOutdated: () => void inOrder().catch(() => {}),
    onNewLife: () => void started(() => giveBackUnreachable(database, memory, clockMs())).catch(() => {}),
  })
  const { lanes, queues, batches } = memory
  const clockMs = () => options.clock?.now() ?? null
  const listeners = new Listeners(database, options)
  const { tell } = listeners
  const wakeups = new Wakeups(options, sql, tell, database.network)
  if (options.notify !== false) await wakeups.listen()
  const promised = options.durability !== 'normal'
  let closed = false
  const folding = new Folding(database, clockMs)
  const stops = [() => folding.stop()]

  /** What was asked for before the store was closed is still done. */
  const underWay = new Set<Promise<unknown>>()
  const started = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(closedError())
    const working = work()
    underWay.add(working)
    const done = () => underWay.delete(working)
    working.then(done, done)
    return working
  }
  const write = <T>(
    work: (sql: Sql) => Promise<T>,
    options: TransactionOptions = { durable: promised },
  ): Promise<T> => {
    folding.worked()
    return started(() => database.transaction(work, options))
  }
  const read = started
  /** Here at once, elsewhere by notification. */
  const publish = (change: Change) => {
    tell(change)
    wakeups.announce(change.kind === 'ended' ? 'ended' : 'work')
  }
  const spread = (change: Change) => {
    publish(change)
    if (change.kind === 'ended') noticed()
  }
  const insert = async (tasks: readonly NewTask[], saying: Saying | null): Promise<Enqueued[]> => {
    if (promised && tasks.every((task) => task.key === null && task.limitKey === undefined))
      return insertTasks(database.prepared, memory, tasks, clockMs(), saying)
    await lanes.learn(tasks)
    return database.transaction((own) => insertTasks(own, memory, tasks, clockMs(), saying), {
      durable: promised,
    })
  }
  const enqueueing = new Gathering<NewTask, Enqueued>(async (tasks) => {
    folding.worked()
    const news = newTasksOf(tasks)
    const saying = wakeups.saying(news)
    const answers = await insert(tasks, saying)
    tell({ kind: 'work' })
    if (saying === null) wakeups.announce('work', news)
    return answers
  })
  const stepInOrder = async (): Promise<boolean> => {
    if (!(await read(() => needsRerank(sql, memory)))) return false
    return write((own) => rerank(own, memory), { durable: false, byIndex: true })
  }
  /** What we have put into the order of former times ourselves; should we fail, somebody else will see it. */
  const inOrder = async () => {
    await read(() => watchAgain(sql))
    for (let step = 0; step < OWN_STEPS_MAX && (await stepInOrder()); step++);
  }
  const now = async (own: Sql = sql) => clockMs() ?? (await serverTime(own))
  const scripts = postgresScripts({ sql, clockMs, read, write, spread, promised })
  const holdings = postgresHoldings(memory)
  const changing = postgresChanging(memory)
  const common = { database, sql, scripts, memory, clockMs, serverTime, now, promised, read, write, spread }
  const shared = { ...common, listeners, tell, stops, wakeTriggers: options.wakeTriggers === true }

  const { flows, noticed, enqueueAfter } = flowStore(scripts, {
    settling: {
      db: scripts.db,
      keyHolders: changing.keyHolders,
      insert: (tasks) => native((own: Sql) => insertTasks(own, memory, tasks, clockMs(), null)),
      changing,
      resuming: postgresResuming(memory),
    },
    prepare: (tasks) => read(() => lanes.learn(tasks)),
    writeAlone: (script) => scripts.write(script),
    watch: (task) => read(() => driveOn(sql, watchTask(task))),
    rowid: (id) => Number(rowid(id)),
  })
  const looking = insight(scripts, changing)
  const { repairRows, ...rows } = postgresRows(shared)

  return {
    remote: true,
    tasks: {
      enqueue: (tasks) =>
        tasks[0]?.after === undefined ? started(() => enqueueing.add(tasks)) : enqueueAfter(tasks),
      within: (transaction) =>
        withinTransaction(transaction, sql, memory, { clockMs, notify: options.notify !== false }),

      async exchange(asked) {
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
        const { answer, ended, requeued, heard, comparedIn, isAwaited } = await started(() =>
          exchangePlainly(database, memory, exchange, spent, clockMs(), EXCHANGING, stepByStep),
        )
        if (comparedIn !== undefined) await noteCompared(memory, exchange.session, comparedIn)
        batches.exchanged(exchange, answer, spent)
        if (ended.length > 0) (isAwaited ? publish : tell)({ kind: 'ended', ids: ended })
        if (heard) noticed()
        if (requeued) spread({ kind: 'work' })
        return answer
      },
      async completeWith(session, run, result, effects) {
        let freed = false
        const completed = await write(
          async (own) => {
            const moment = await liveUntilCommit(own, rowid(session))
            if (!moment.live) return false
            const lane = await complete(own, rowid(session), run, result, clockMs() ?? moment.now)
            if (lane === null) return false
            await advanceVirtualTimes(
              own,
              queues,
              rowid(session),
              memory.weightedEntries.begun({ starts: [run], outcomes: [] }),
            )
            await effects(ofCallback(own.raw))
            if (moment.limited) freed = await freeSlot(own, lane)
            // Last: it locks the session's row, and the keeper would wait for as long as the effects take.
            await markUseful(own, rowid(session))
            return true
          },
          { durable: promised, runsUserSql: true },
        )
        batches.settled(rowid(session), [run])
        if (completed) spread({ kind: 'ended', ids: [run.id] })
        if (completed && freed) spread({ kind: 'work' })
        return completed
      },

      ...managingTasks(scripts, changing, noticed),
      ...looking.tasks,
    },

    sessions: {
      async openSession(session) {
        const { id, life } = await write(async (own) => {
          await commitDurably(own)
          return { id: await driveOn(own, insertSession(scripts.db, session)), life: await lifeNow(own) }
        })
        memory.life.opened(id, life ?? (await memory.life.begin()))
        // Whoever pulls by hand takes nothing that it is told of.
        if (session.pulls === undefined) wakeups.neighbours.opened(id)
        return id
      },
      liveSessions: async () =>
        wakeups.neighbours.saw(await scripts.read(() => readLiveSessions(scripts.db))),
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
        batches.ended(rowid(id))
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
      ...looking.sessions,
    },

    rows,
    flows,
    steps: stepStore(scripts, postgresResuming(memory), (id) => Number(rowid(id))),
    admin: {
      ...managingQueues(scripts),
      async configureQueues(settings) {
        if (!(await read(() => hasNewOrdering(sql, queues, settings)))) return
        while (!(await write((own) => configureQueues(own, memory, settings)))) {
          if (await stepInOrder()) continue
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

      ...looking.admin,
      addMetrics: (measured) => read(() => addMetrics(database, scripts.db, measured, clockMs())),
    },

    maintenance: {
      ...postgresMaintenance({ ...shared, address: options }),
      rerank: stepInOrder,
      repairRows,
      sizes: () => read(() => sizes(sql)),
      migrations: () => read(() => appliedMigrations(sql)),
    },

    onChange: (listener, hears) => listeners.add(listener, hears),
    async close() {
      if (closed) return
      closed = true
      for (const stop of stops) stop()
      listeners.close()
      await Promise.allSettled(underWay)
      await wakeups.close()
      await database.close()
    },
  }
}
