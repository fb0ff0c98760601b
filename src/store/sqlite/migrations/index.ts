import { sharedMigrations } from '../../migrations/index.ts'
import { tasksMigration } from './001-tasks.ts'
import { views } from './002-views.ts'
import { limits } from './005-limits.ts'
import { management } from './006-management.ts'
import { discoveryMigration } from './007-discovery.ts'
import { healthMigration } from './009-health.ts'
import { actionsMigration } from './011-actions.ts'
import { levelsMigration } from './017-levels.ts'
import { leaseClock } from './020-lease-clock.ts'
import { lines } from './023-lines.ts'
import { pulling } from './029-pulling.ts'
import { components } from './031-components.ts'
import { chosenOrdersMigration } from './033-chosen-orders.ts'
import { suspended } from './034-suspended.ts'
import { flowEnds } from './037-flow-ends.ts'
import { orderKeys } from './038-order-keys.ts'
import { fromPostgres } from './from-postgres.ts'
import type { Migration } from './migration.ts'

const OWN: readonly Migration[] = [
  tasksMigration,
  views,
  limits,
  management,
  discoveryMigration,
  healthMigration,
  actionsMigration,
  levelsMigration,
  leaseClock,
  lines,
  pulling,
  components,
  chosenOrdersMigration,
  suspended,
  flowEnds,
  orderKeys,
]

const SHARED = sharedMigrations.map((migration) => ({ ...migration, sql: fromPostgres(migration.sql) }))

/** In order; a version that was released never changes. */
export const migrations: readonly Migration[] = [...OWN, ...SHARED].sort((a, b) => a.version - b.version)
