import type { RowCounts } from '../../../model/row.ts'
import { aside } from '../../aside.ts'
import type { Change } from '../../ports/change.ts'
import type { MaintenanceStore } from '../../ports/maintenance.ts'
import type { RowStore } from '../../ports/rows.ts'
import { areSameWaits } from '../../row-waits.ts'
import { noteWaits, readWaits } from '../../scripts/row-waits.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Memory } from '../memory.ts'
import type { Database } from '../server/database.ts'
import type { Listeners } from '../server/listeners.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { isWork } from '../server/wakeups.ts'
import { rowid } from '../tasks/rowid.ts'
import { completeRowWith } from './complete-with.ts'
import { countRows } from './count.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { exchangeRows } from './exchange.ts'
import { isOwnFault } from './faults.ts'
import { releaseRow, releaseRows, setDiscoveryPaused, stateToRetry } from './manage.ts'
import { changedPlans, listDiscoveries, plannedOf, writePlans } from './plan.ts'
import { WritePolling } from './polling.ts'
import { listRows, readRow, readRowCircumstances } from './records.ts'
import { repairRows } from './repair.ts'
import { readRowValues } from './row-values.ts'
import { BACKGROUND, RowTurns } from './services.ts'
import { validateSource } from './validate.ts'
import { addWakeTriggers } from './wake-trigger.ts'

export interface RowsOf {
  database: Database
  scripts: Scripts
  memory: Memory
  clockMs: () => number | null
  now: (sql: Sql) => Promise<number>
  promised: boolean
  wakeTriggers: boolean
  read<T>(work: () => Promise<T>): Promise<T>
  write<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  spread(change: Change): void
  listeners: Listeners
  tell(change: Change): void
  /** Called when the store is closed. */
  stops: (() => void)[]
}

/** The verbs for work found in the user's own tables. */
export function postgresRows(shared: RowsOf): RowStore & Pick<MaintenanceStore, 'repairRows'> {
  const { database, scripts, clockMs, now, read, write, spread } = shared
  const book = shared.memory.discoveries
  const { sql, ofUser } = database
  let wakes = 0
  shared.listeners.add((change) => {
    const isOfTasks = change.kind === 'elsewhere' && change.task !== undefined
    if (isWork(change) && !isOfTasks) wakes += 1
  }, 'signals')
  const services = {
    ...shared,
    book,
    life: shared.memory.life,
    wakes: () => wakes,
    turns: new RowTurns(),
    seen: { outlook: null },
  }
  const counting = new Map<string, Promise<RowCounts>>()
  const polling = new WritePolling(database.sql, book, () => shared.tell({ kind: 'elsewhere' }))
  shared.stops.push(() => polling.close())
  return {
    async planDiscoveries(sources) {
      const plans = await read(() => Promise.all(sources.map((source) => validateSource(database, source))))
      const changed = await read(() => changedPlans(sql, plans))
      if (changed.length > 0) {
        await write((own) => writePlans(own, changed))
        spread({ kind: 'work' })
      }
      if (shared.wakeTriggers) await read(() => addWakeTriggers(database, plans))
      return plans.map((plan) => plannedOf(sql, shared.wakeTriggers ? { ...plan, tells: true } : plan))
    },

    async exchangeRows(asked) {
      const exchange = { ...asked, session: rowid(asked.session) }
      const { answer, freed } = await read(() => exchangeRows(services, exchange))
      if (exchange.want !== null) polling.asked(exchange.want.discoveries)
      if (freed) spread({ kind: 'work' })
      return answer
    },
    async completeRowWith(session, run, completed, effects) {
      const options = { durable: shared.promised, runsUserSql: true }
      const answer = await read(() =>
        completeRowWith(services, rowid(session), run, completed, effects, options),
      )
      if (answer.kind === 'changed' || answer.kind === 'paused') spread({ kind: 'work' })
      return answer
    },

    repairRows: (step) =>
      read(() => repairRows({ sql, book, write: (work) => database.transaction(work, BACKGROUND) }, step)),

    listDiscoveries: () => read(() => listDiscoveries(sql)),
    countRows: (discovery) =>
      read(() =>
        book.reading(discovery, (known) =>
          aside(counting, discovery, () => countRows(database.ofUserUnhurried, known, clockMs())),
        ),
      ),
    async noteWaiting(discoveries) {
      const waits = await scripts.read(readWaits)
      if (areSameWaits(discoveries, waits)) return waits
      return scripts.writeCheaply(() => noteWaits(scripts.db, discoveries))
    },
    listRows: (discovery, filter, page) =>
      read(() =>
        book.reading(discovery, async (known) => listRows(ofUser, known, filter, page, await now(sql))),
      ),
    getRow: (discovery, key) =>
      read(() => book.reading(discovery, async (known) => readRow(ofUser, known, key, await now(sql)))),
    rowValues: (discovery, key) =>
      read(() => book.reading(discovery, (known) => readRowValues(database, known, key))),
    rowCircumstances: (discovery, key) =>
      read(async () => {
        const at = { name: discovery, key }
        const explained = async (known: KnownDiscovery | Error) =>
          readRowCircumstances(ofUser, known, at, await now(sql))
        try {
          return await book.reading(discovery, explained)
        } catch (error) {
          if (isOwnFault(error)) return explained(error)
          throw error
        }
      }),
    async retryRow(discovery, key) {
      const known = await read(() => book.get(discovery))
      const state = await read(() =>
        book.reading(discovery, async (one) => stateToRetry(ofUser, one, key, await now(sql))),
      )
      if (state === 'gone' || state === 'claimed') return state
      await write(async (own) => releaseRow(own, known, key, await now(own)))
      if (state === 'retried') spread({ kind: 'work' })
      return state
    },
    async releaseRows(discovery, step) {
      const known = await read(() => book.get(discovery))
      const answer = await write(async (own) => releaseRows(own, known, step, await now(own)))
      if (answer.released > 0) spread({ kind: 'work' })
      return answer
    },
    async setDiscoveryPaused(discovery, paused) {
      await write((own) => setDiscoveryPaused(own, discovery, paused))
      if (!paused) spread({ kind: 'work' })
    },
  }
}
