import { sharedMigrations } from '../../migrations/index.ts'
import { tasks } from './001-tasks.ts'
import { views } from './002-views.ts'
import { limits } from './005-limits.ts'
import { management } from './006-management.ts'
import { discovery } from './007-discovery.ts'
import { health } from './009-health.ts'
import { actions } from './011-actions.ts'
import { levels } from './017-levels.ts'
import { leaseClock } from './020-lease-clock.ts'
import { lines } from './023-lines.ts'
import { pulling } from './029-pulling.ts'
import { components } from './031-components.ts'
import { chosenOrders } from './033-chosen-orders.ts'
import { suspended } from './034-suspended.ts'
import { flowEnds } from './037-flow-ends.ts'
import { fromPostgres } from './from-postgres.ts'
import type { Migration } from './migration.ts'

const OWN: readonly Migration[] = [
  tasks,
  views,
  limits,
  management,
  discovery,
  health,
  actions,
  levels,
  leaseClock,
  lines,
  pulling,
  components,
  chosenOrders,
  suspended,
  flowEnds,
]

const SHARED = sharedMigrations.map((migration) => ({ ...migration, sql: fromPostgres(migration.sql) }))

/** In order; a version that was released never changes. */
export const migrations: readonly Migration[] = [...OWN, ...SHARED].sort((a, b) => a.version - b.version)
