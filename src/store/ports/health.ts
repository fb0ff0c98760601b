import type { HealthNote, HealthRecord } from '../../model/health.ts'
import type { Page } from '../../model/task.ts'
import type { PageRequest } from './page.ts'

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
