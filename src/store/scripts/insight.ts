import type { Actions } from '../ports/actions.ts'
import type { AdminStore } from '../ports/admin.ts'
import type { HealthHistoryStore } from '../ports/health.ts'
import type { Levels } from '../ports/levels.ts'
import type { SessionStore } from '../ports/sessions.ts'
import type { TaskStore } from '../ports/tasks.ts'
import type { WorkerReportStore } from '../ports/worker-reports.ts'
import type { Scripts } from '../sql/scripts.ts'
import { rowid } from '../task-row.ts'
import { actions } from './actions.ts'
import { readCircumstances, readDemand } from './circumstances.ts'
import { healthHistory } from './health.ts'
import { levels } from './levels.ts'
import { readMetrics, readTotals } from './metrics.ts'
import { holdsAhead } from './prefetched.ts'
import { noteUnavailableResources } from './sessions.ts'
import type { ChangingTasks } from './task-changes.ts'
import { workerReportScripts } from './worker-reports.ts'

/** What it adds to the ports. Each database adds to its metrics in its own way, so `addMetrics` is not among them. */
interface Insight {
  tasks: Pick<TaskStore, 'circumstancesOf'>
  sessions: HealthHistoryStore & WorkerReportStore & Pick<SessionStore, 'noteUnavailableResources'>
  admin: Actions & Levels & Pick<AdminStore, 'demand' | 'holdsAhead' | 'readMetrics' | 'readTotals'>
}

/** The verbs that tell what a database holds and what happened in it. */
export function insight(scripts: Scripts, changing: ChangingTasks): Insight {
  const { db, read, writeCheaply } = scripts
  return {
    tasks: { circumstancesOf: (id) => read(() => readCircumstances(db, changing, rowid(id))) },
    sessions: {
      ...healthHistory(scripts),
      ...workerReportScripts(scripts),
      noteUnavailableResources: (session, unavailable) =>
        writeCheaply(() => noteUnavailableResources(rowid(session), unavailable)),
    },
    admin: {
      ...actions(scripts),
      ...levels(scripts),
      demand: () => read(() => readDemand(db)),
      holdsAhead: (of) => read(() => holdsAhead(of)),
      readMetrics: (windowMs) => read(() => readMetrics(db, windowMs)),
      readTotals: () => read(() => readTotals(db)),
    },
  }
}
