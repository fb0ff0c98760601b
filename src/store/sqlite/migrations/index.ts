import type { Migration } from '../file/migrate.ts'
import { tasks } from './001-tasks.ts'
import { views } from './002-views.ts'
import { schedules } from './003-schedules.ts'
import { limits } from './005-limits.ts'
import { management } from './006-management.ts'
import { discovery } from './007-discovery.ts'
import { supervisors } from './008-supervisors.ts'
import { health } from './009-health.ts'
import { actions } from './011-actions.ts'
import { rowWaits } from './015-row-waits.ts'
import { levels } from './017-levels.ts'
import { leaseClock } from './020-lease-clock.ts'
import { lines } from './023-lines.ts'
import { pulling } from './029-pulling.ts'

/** In order; a version that was released never changes. */
export const migrations: readonly Migration[] = [
  tasks,
  views,
  schedules,
  limits,
  management,
  discovery,
  supervisors,
  health,
  actions,
  rowWaits,
  levels,
  leaseClock,
  lines,
  pulling,
]
