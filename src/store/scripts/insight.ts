import type { Insight } from '../managing.ts'
import type { Scripts } from '../sql/scripts.ts'
import { rowid } from '../task-row.ts'
import { actions } from './actions.ts'
import { readCircumstances, readDemand } from './circumstances.ts'
import { healthHistory } from './health.ts'
import { levels } from './levels.ts'
import { readMetrics, readTotals } from './metrics.ts'
import { holdsAhead } from './prefetched.ts'
import { noteHoldups } from './sessions.ts'
import type { ChangingTasks } from './task-changes.ts'

/** Differs because the file or the server knows its size, and because processes on PostgreSQL do not add to the same row of metrics. */
type OwnVerbs = 'addMetrics' | 'sizes' | 'migrations' | 'changeTasks'

/** The verbs that tell what a database holds and what happened in it. */
export function insight(scripts: Scripts, changing: ChangingTasks): Omit<Insight, OwnVerbs> {
  const { db, read, writeCheaply } = scripts
  return {
    ...actions(scripts),
    ...healthHistory(scripts),
    ...levels(scripts),
    circumstancesOf: (id) => read(() => readCircumstances(db, changing, rowid(id))),
    noteHoldups: (session, holdups) => writeCheaply(() => noteHoldups(rowid(session), holdups)),
    demand: () => read(() => readDemand(db)),
    holdsAhead: (of) => read(() => holdsAhead(of)),
    readMetrics: (windowMs) => read(() => readMetrics(db, windowMs)),
    readTotals: () => read(() => readTotals(db)),
  }
}
