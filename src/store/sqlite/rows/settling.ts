import type { RowOutcome } from '../../../model/row.ts'
import type { Run } from '../../ports/exchange.ts'
import type { Statements } from '../file/statements.ts'
import type { DiscoveryBook } from './book.ts'

export type HandedIn = Run & { outcome: RowOutcome }

/** What a row that is handed in is settled with. */
export interface Settling {
  db: Statements
  book: DiscoveryBook
  session: number
  now: number
}
