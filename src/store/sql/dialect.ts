import type { Script } from './script.ts'
import type { Fragment } from './sql.ts'

/** What the databases say differently, as far as scripts need it. */
export interface Dialect {
  /** The store's time in milliseconds, inside a statement. */
  readonly now: Fragment
  /** The same in the script. */
  time(): Script<number>
  /** Locks the selected rows until the end of the transaction. On SQLite the transaction holds the only write lock. */
  readonly forUpdate: Fragment
  /** The same for one table of a join. */
  forUpdateOf(alias: string): Fragment
  /** `= one of these`, to be written behind a column. */
  oneOf(values: readonly (string | number)[]): Fragment
}
