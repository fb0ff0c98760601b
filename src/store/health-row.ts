import type { HealthRecord } from '../model/health.ts'
import type { Page } from '../model/task.ts'
import { writeCursor } from './cursor.ts'
import { pageOf } from './task-row.ts'

/** Lines that one writing down takes away at most, beside those it brings: an old history goes step by step. */
export const HEALTH_PRUNED_MAX = 500

export interface HealthRow {
  id: number
  at: number
  component: string
  status: HealthRecord['status']
  changed_from: HealthRecord['changedFrom']
}

/** `rows` may hold one more than the page: then there is another page. */
export function healthPage(rows: readonly HealthRow[], limit: number): Page<HealthRecord> {
  return pageOf(
    rows,
    limit,
    ({ at, component, status, changed_from }) => ({ at, component, status, changedFrom: changed_from }),
    ({ id }) => writeCursor([id]),
  )
}
