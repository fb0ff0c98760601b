import type { HealthNote, HealthRecord } from '../model/health.ts'
import type { Page } from '../model/task.ts'
import type { PageRequest } from './contract.ts'
import { writeCursor } from './cursor.ts'
import { pageOf } from './task-row.ts'

/** Lines that one writing down takes away at most, beside those it brings: an old history goes step by step. */
export const HEALTH_PRUNED_MAX = 500

/** How a supervisor writes down what its health monitor saw. */
export interface HealthBook {
  /** Appends, and takes away what is too old or too much, a few at a time. */
  noteHealth(notes: readonly NewHealthNote[]): Promise<void>
  /** The newest first. */
  healthHistory(filter: HealthFilter, page: PageRequest): Promise<Page<HealthRecord>>
}

export interface NewHealthNote extends HealthNote {
  /** The store's clock decides when that was. */
  agoMs: number
}

export interface HealthFilter {
  component?: string
  /** Only changes. */
  changes?: boolean
}

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
