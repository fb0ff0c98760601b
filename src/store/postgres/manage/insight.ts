import { firstMinute } from '../../../model/metrics.ts'
import type { Insight } from '../../contract.ts'
import { actions } from '../../scripts/actions.ts'
import { healthHistory } from '../../scripts/health.ts'
import { holdsAhead } from '../../scripts/prefetched.ts'
import { noteHoldups } from '../../scripts/sessions.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Memory } from '../memory.ts'
import type { Database } from '../server/database.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { rowid } from '../tasks/task-records.ts'
import { appliedMigrations, sizes } from '../upkeep/sizes.ts'
import { readCircumstances, readDemand } from './circumstances.ts'
import { levels } from './levels.ts'
import { addMetrics, readMetrics, readTotals } from './metrics.ts'

export interface InsightServices {
  database: Database
  sql: Sql
  memory: Memory
  scripts: Scripts
  clockMs: () => number | null
  serverTime: (sql: Sql) => Promise<number>
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
}

/** The verbs for whoever looks after many tasks. */
export function insight(services: InsightServices): Omit<Insight, 'changeTasks'> {
  const { database, sql, memory, scripts, clockMs, serverTime, read, write } = services
  const nowOf = async (own: Sql) => clockMs() ?? (await serverTime(own))
  return {
    ...actions(scripts),
    ...healthHistory(scripts),
    ...levels({ sql, nowOf, read, write }),
    circumstancesOf: (id) => read(() => readCircumstances(sql, memory.lanes, id, clockMs())),
    noteHoldups: (session, holdups) =>
      scripts.writeCheaply(() => noteHoldups(Number(rowid(session)), holdups)),
    addMetrics: (measured) => read(() => addMetrics(database, measured, clockMs())),
    demand: () => read(() => readDemand(sql, clockMs())),
    holdsAhead: (of) => scripts.read(() => holdsAhead(of)),
    readMetrics: (windowMs) =>
      read(async () => {
        const now = await nowOf(sql)
        return readMetrics(sql, firstMinute(now, windowMs), clockMs(), now)
      }),
    readTotals: () => read(() => readTotals(sql)),
    sizes: () => read(() => sizes(sql)),
    migrations: () => read(() => appliedMigrations(sql)),
  }
}
