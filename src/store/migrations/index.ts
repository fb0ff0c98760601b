import { schedulesMigration } from './003-schedules.ts'
import { supervisors } from './008-supervisors.ts'
import { rowWaits } from './015-row-waits.ts'
import { steps } from './030-steps.ts'
import { workerReports } from './032-worker-reports.ts'
import { waits } from './035-waits.ts'
import { flows } from './036-flows.ts'
import type { SharedMigration } from './migration.ts'

/** Steps that both databases take. A version that was released never changes. */
export const sharedMigrations: readonly SharedMigration[] = [
  schedulesMigration,
  supervisors,
  rowWaits,
  steps,
  workerReports,
  waits,
  flows,
]
