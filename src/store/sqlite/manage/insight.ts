import { firstMinute } from '../../../model/metrics.ts'
import type { Insight } from '../../contract.ts'
import { actions } from '../../scripts/actions.ts'
import { healthHistory } from '../../scripts/health.ts'
import { holdsAhead } from '../../scripts/prefetched.ts'
import { noteHoldups } from '../../scripts/sessions.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Durability } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { appliedMigrations, sizes } from '../upkeep/sizes.ts'
import { readCircumstances, readDemand } from './circumstances.ts'
import { levels } from './levels.ts'
import { addMetrics, readMetrics, readTotals } from './metrics.ts'

export interface InsightServices {
  db: Statements
  memory: Memory
  scripts: Scripts
  now: () => number
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T) => Promise<T>
}

/** The verbs for whoever looks after many tasks. */
export function insight({
  db,
  memory,
  scripts,
  now,
  read,
  write,
}: InsightServices): Omit<Insight, 'changeTasks'> {
  return {
    ...actions(scripts),
    ...healthHistory(scripts),
    ...levels({ db, now, read, write }),
    circumstancesOf: (id) => read(() => readCircumstances(db, memory.lanes, id, now())),
    noteHoldups: (session, holdups) => scripts.writeCheaply(() => noteHoldups(Number(session), holdups)),
    addMetrics: (measured) => write('normal', () => addMetrics(db, measured, now())),
    demand: () => read(() => readDemand(db, memory.lanes.all(), now())),
    holdsAhead: (of) => scripts.read(() => holdsAhead(of)),
    readMetrics: (windowMs) =>
      read(() => readMetrics(db, memory.lanes.all(), firstMinute(now(), windowMs), now())),
    readTotals: () => read(() => readTotals(db)),
    sizes: () => read(() => sizes(db)),
    migrations: () => read(() => appliedMigrations(db)),
  }
}
