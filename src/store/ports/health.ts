import type { ComponentRecord, HealthEntry, HealthRecord } from '../../model/health.ts'
import type { Page } from '../../model/task.ts'
import type { PageRequest } from './page.ts'

/** How health monitors write down what they saw. */
export interface HealthHistoryStore {
  /**
   * Appends, and takes away what is too old or too much, a few at a time. With `freshMs`, the notes are of components that have no
   * other record, and are listed by `components`.
   */
  noteHealth(notes: readonly NewHealthNote[], freshMs?: number): Promise<void>
  /** The newest first. */
  healthHistory(filter: HealthFilter, page: PageRequest): Promise<Page<HealthRecord>>
  /** Components as their monitors last reported them. */
  components(): Promise<ComponentRecord[]>
  /** Their history stays. */
  forgetComponents(ids: readonly string[]): Promise<void>
}

export interface NewHealthNote extends HealthEntry {
  /** The store's clock decides when that was. */
  agoMs: number
}

export interface HealthFilter {
  component?: string
  /** Only changes. */
  changes?: boolean
  /** From this time on, and before that one, in milliseconds since 1970. */
  since?: number
  until?: number
}
