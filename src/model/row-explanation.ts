import type { Serving } from './explanation.ts'
import type { RowRecord } from './row.ts'

/** All that decides whether a row can run now. */
export interface RowCircumstances {
  discovery: string
  key: string
  /** Whether the table has such a row at all. */
  exists: boolean
  /** Null: it does not match the condition. */
  row: RowRecord | null
  where: string
  now: number
  /** It is run alone, because its worker died while it was in its hands. */
  suspect: boolean
  everythingPaused: boolean
  paused: boolean
  pausedReason: string | null
  /** The index that is missing. */
  createIndex: string | null
  workers: readonly Serving[]
}
