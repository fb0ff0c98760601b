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
  /** Leaves out the rows that another transaction has locked. Stands behind `forUpdate`. */
  readonly skipLocked: Fragment
  /** `= one of these`, to be written behind a column. */
  oneOf(values: readonly (string | number)[]): Fragment
  /** Lists of equal length as a table: the first row has the first value of each list. */
  given(alias: string, lists: readonly GivenList[]): Fragment
  /** For each of `ids` the value at the same place, inside a statement. `id`: a bigint. */
  valueFor(id: Fragment, ids: readonly number[], values: readonly number[]): Fragment
  /** The first rows of each lane in a list, each found by an index. */
  headOfEach(head: HeadOfEach): Fragment
  /** Whether a text holds another one. Letters of ASCII in `text` may be large or small, and `needle` has small ones. */
  holds(text: Fragment, needle: string): Fragment
  /** Until the end of the transaction, others that lock the same item wait. For rows: nothing of theirs stands in a table while they wait. */
  lockItem(item: string): Script<void>
  readonly schema: SchemaDifferences
  /** What a claimed row was like, as text. `alias` names its claim. */
  versionOf(alias: string): Fragment
  /** Behind a text: compared byte by byte, as all databases order it in the same way. */
  readonly bytewise: Fragment
  /** The selected session cannot end before this transaction does; renewals go on. */
  keepsSession(alias: string): Fragment
}

/** A column of a given table. */
export interface GivenList {
  readonly name: string
  readonly type: 'integer' | 'bigint' | 'text'
  readonly values: readonly (string | number)[]
}

export interface HeadOfEach {
  /** A given table `l` with a column `lane`. */
  readonly lanes: Fragment
  /** Tasks as `t`. */
  readonly from: Fragment
  readonly where: Fragment
  readonly order: Fragment
  readonly count: number
  /** Of `t` and `l`. */
  readonly columns: Fragment
}

/** Where the tables of the two databases differ. The conditions are those of their indexes. */
export interface SchemaDifferences {
  /** The table of single numbers. */
  readonly settings: Fragment
  /** A task `t` waits and is not suspect. */
  readonly ready: Fragment
  /** A task `t` waits and is suspect. */
  readonly suspect: Fragment
  /** A task `t` has an order key, and leads the tasks of its key. */
  readonly leading: Fragment
  /** A task `t` waits behind another one of its order key. */
  readonly behind: Fragment
  /** A task `t` is scheduled. */
  readonly scheduled: Fragment
  /** A task `t` is scheduled, or suspended with a time-out: `run_after` says until when. */
  readonly delayed: Fragment
  /** A task `t` is not finished, and has one of these stored keys. */
  hasActiveKey(keys: readonly string[]): Fragment
  /** Finished tasks `t` of a lane `l.lane`, in the order in which they finished. */
  readonly finished: FinishedTasks
  /** The input of a task `t`. */
  readonly input: Fragment
  /** Selects what to add up for each lane: (lane, queue, name, requires, created, scheduled, suspended, completed, failed, cancelled). Its names stand once. */
  readonly counterParts: Fragment
  /** What a limit counter `g` holds. */
  readonly gateHeld: Fragment
  /** Selects what was measured in each minute from this one on. */
  measuredSince(minute: number): Fragment
  /** Selects all that was ever measured, as if in the minute `ALL_TIME`. */
  readonly measuredEver: Fragment
  /** What else to set when a task becomes queued, scheduled or finished, and when a finished task gets its key back. Begins with a comma. */
  readonly alsoWhenQueued: Fragment
  /** The same of a task that was suspended: it may wait behind another one of its order key. */
  readonly alsoWhenResumed: Fragment
  readonly alsoWhenScheduled: Fragment
  /** `delayed`: it has a time-out. */
  alsoWhenSuspended(delayed: boolean): Fragment
  readonly alsoWhenFinished: Fragment
  /** What else to set when a waiting task leads its order key from now on. */
  readonly alsoWhenLeading: Fragment
  /** How a finished task waits again: behind the others of its order key, if it has one. Begins without a comma. */
  readonly whenRetried: Fragment
  readonly alsoWhenKeyReturns: Fragment
}

export interface FinishedTasks {
  readonly from: Fragment
  /** When they finished, as the index has it. */
  readonly at: Fragment
  withStatus(status: string): Fragment
}
