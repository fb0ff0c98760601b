import type { RowOutcome } from '../../../model/row.ts'
import type { Run } from '../../ports/exchange.ts'
import type { Statements } from '../file/statements.ts'
import type { DiscoveryCache } from './discovery-cache.ts'

export type RowToSettle = Run & { outcome: RowOutcome }

/** What a row that is handed in is settled with. */
export interface Settling {
  db: Statements
  book: DiscoveryCache
  session: number
  now: number
}
