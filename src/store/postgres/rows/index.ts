import type { RowCounts } from '../../../model/row.ts'
import { aside } from '../../aside.ts'
import type { Change } from '../../ports/change.ts'
import type { MaintenanceStore } from '../../ports/maintenance.ts'
import type { DiscoverySource, PlannedDiscovery, RowStore } from '../../ports/rows.ts'
import { countRows } from '../../scripts/rows/count.ts'
import { changedPlans, writePlans } from '../../scripts/rows/discoveries.ts'
import { managingRows } from '../../scripts/rows/index.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Database } from '../server/database.ts'
import type { Listeners } from '../server/listeners.ts'
import { driveOn } from '../server/scripts.ts'
import type { ServerLife } from '../server/server-life.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { isWork } from '../server/wakeups.ts'
import { rowid } from '../tasks/rowid.ts'
import { completeRowWith } from './complete-with.ts'
import type { DiscoveryCache } from './discovery-cache.ts'
import { discoveryScripts } from './discovery-scripts.ts'
import { exchangeRows } from './exchange.ts'
import { plannedOf } from './plan.ts'
import { WritePolling } from './polling.ts'
import { readRowValues } from './row-values.ts'
import { RowTurns } from './services.ts'
import { validateSource } from './validate.ts'
import { addWakeTriggers } from './wake-trigger.ts'

export interface RowsOf {
  database: Database
  scripts: Scripts
  book: DiscoveryCache
  /** Of the server. */
  life: ServerLife
  clockMs: () => number | null
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
  const { database, book, scripts, promised, read, write, spread } = shared
  let wakes = 0
  shared.listeners.add((change) => {
    const isOfTasks = change.kind === 'elsewhere' && change.task !== undefined
    if (isWork(change) && !isOfTasks) wakes += 1
  }, 'signals')
  const services = {
    ...shared,
    wakes: () => wakes,
    turns: new RowTurns(),
    seen: { outlook: null },
  }
  const counting = new Map<string, Promise<RowCounts>>()
  const polling = new WritePolling(database.sql, book, () => shared.tell({ kind: 'elsewhere' }))
  shared.stops.push(() => polling.close())
  return {
    planDiscoveries: (sources) => planDiscoveries(shared, sources),
    async exchangeRows(asked) {
      const exchange = { ...asked, session: rowid(asked.session) }
      const { answer, freed } = await read(() => exchangeRows(services, exchange))
      if (exchange.want !== null) polling.asked(exchange.want.discoveries)
      if (freed) spread({ kind: 'work' })
      return answer
    },
    async completeRowWith(session, run, completed, effects) {
      const options = { durable: promised, runsUserSql: true }
      const answer = await read(() =>
        completeRowWith(services, { session: rowid(session), run, completed, effects }, options),
      )
      if (answer.kind === 'changed' || answer.kind === 'paused') spread({ kind: 'work' })
      return answer
    },

    ...managingRows(scripts, discoveryScripts({ database, book, promised, read, write })),
    countRows: (discovery) =>
      read(() =>
        book.reading(discovery, (known) =>
          aside(counting, discovery, () =>
            driveOn(database.ofUserUnhurried, countRows(scripts.db, known.sql)),
          ),
        ),
      ),
    rowValues: (discovery, key) =>
      read(() => book.reading(discovery, (known) => readRowValues(database, known, key))),
  }
}

async function planDiscoveries(
  { database, scripts, wakeTriggers, read, spread }: RowsOf,
  sources: readonly DiscoverySource[],
): Promise<PlannedDiscovery[]> {
  const valid = async (declared: DiscoverySource) => {
    const validated = await validateSource(database, declared)
    const { source, tells } = validated
    // `addWakeTriggers` adds the trigger that is missing.
    const planned = plannedOf(database.sql, { ...validated, tells: tells || wakeTriggers })
    return { ...validated, declared: source.declared, planned }
  }
  const plans = await read(() => Promise.all(sources.map(valid)))
  const changed = await scripts.read(() => changedPlans(scripts.db, plans))
  if (changed.length > 0) {
    await scripts.write(() => writePlans(scripts.db, changed))
    spread({ kind: 'work' })
  }
  if (wakeTriggers) await read(() => addWakeTriggers(database, plans))
  return plans.map(({ planned }) => planned)
}
