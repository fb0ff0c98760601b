import type { HealthRecord, ReportedComponent } from '../model/health.ts'
import type { Page } from '../model/task.ts'
import { writeCursor } from './cursor.ts'
import { pageOf } from './task-row.ts'

/** Lines that one writing down takes away at most, beside those it brings: an old history goes step by step. */
export const HEALTH_PRUNED_MAX = 500
/** As many as one monitor watches at most. */
export const COMPONENTS_LISTED_MAX = 10_000

export interface HealthRow {
  id: number
  at: number
  component: string
  status: HealthRecord['status']
  changed_from: HealthRecord['changedFrom']
  item: string | null
}

export interface ComponentRow {
  id: string
  status: HealthRecord['status']
  since: number
  item: string | null
  seen_at: number
  fresh_ms: number
}

export function reportedComponent({ seen_at, fresh_ms, ...row }: ComponentRow): ReportedComponent {
  return { ...row, reportedAt: seen_at, freshMs: fresh_ms }
}

/** `rows` may hold one more than the page: then there is another page. */
export function healthPage(rows: readonly HealthRow[], limit: number): Page<HealthRecord> {
  return pageOf(
    rows,
    limit,
    ({ at, component, status, changed_from, item }) => ({
      at,
      component,
      status,
      changedFrom: changed_from,
      item,
    }),
    ({ id }) => writeCursor([id]),
  )
}
