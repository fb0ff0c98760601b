import type { Script } from './script.ts'
import type { Fragment } from './sql.ts'

/** A discovery as scripts name it. It holds SQL of the user: the table, the columns and the condition. */
export interface DiscoverySql {
  readonly name: string
  /** The columns of its key. */
  readonly keySize: number
  /** The values of a place; 0: a place is the text of a key. */
  readonly placeSize: number
  /** The table of the user, as it stands behind FROM. */
  readonly table: Fragment
  readonly eligible: Fragment
  /** The row with this key, an SQL expression that gives its text. */
  hasKey(key: Fragment): Fragment
  /** The row is as it was when an entry of the ledger was written. `entry` is its alias. */
  isAsIn(entry: string): Fragment
  /** Selects `key` and `place` of the eligible rows behind a place, in their order. Null: from the first one. */
  next(place: string | null, count: number): Fragment
  /** The database cannot read a text as the key or the place of a row of this table. */
  isUnreadable(error: unknown): boolean
  /** Whether the database can read this text as a place. */
  readsPlace(place: string): Script<boolean>
  /** Entries of the ledger that `copy` wrote hold for their rows as they are now. Null: no entry can be a copy. */
  adoptCopied(keys: readonly string[]): Fragment | null
}

/** How scripts get the discovery that they work on. */
export interface DiscoveryScripts {
  /** If the table was altered, the discovery is validated anew and the script runs again. */
  read<Answer>(discovery: string, script: (known: DiscoverySql) => Script<Answer>): Promise<Answer>
  /** The same. The script gets an error if the declaration does not fit the table. */
  readOrProblem<Answer>(
    discovery: string,
    script: (known: DiscoverySql | Error) => Script<Answer>,
  ): Promise<Answer>
  /** In one transaction whose commit is on disk before the answer. */
  write<Answer>(discovery: string, script: (known: DiscoverySql) => Script<Answer>): Promise<Answer>
  /** In one transaction whose loss does no harm. The script gets an error if the declaration does not fit the table. */
  writeStep<Answer>(
    discovery: string,
    script: (known: DiscoverySql | Error) => Script<Answer>,
  ): Promise<Answer>
  /** The condition fails on a row, or the declaration does not fit the table: the next claim pauses the discovery. */
  isOwnFault(error: unknown): error is Error
}
