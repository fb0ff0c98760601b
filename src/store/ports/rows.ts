import type { RowAnswer, RowCounts, RowOutcome, RowRecord, RowState, RowValues } from '../../model/row.ts'
import type { RowCircumstances } from '../../model/row-explanation.ts'
import type { Page } from '../../model/task.ts'
import type { ClaimProof, Effects, Run } from './exchange.ts'
import type { PageRequest } from './page.ts'

/**
 * The part of the contract for work that is found in the user's own tables. The row is the only state: beside it there are
 * claims (who works on it now) and the ledger (what is remembered of a row that failed), and both may be deleted at any time
 * without harm.
 *
 * A row is *eligible* when it matches the condition of its discovery. It *waits* when it is eligible, no worker has claimed it, and
 * the ledger does not keep it back. What the ledger says holds for the row as it was then: an edited row is a new row.
 *
 * Verbs that take the name of a discovery throw `InputError` UNKNOWN_DISCOVERY when no process has ever planned it. A discovery
 * that this store has not planned itself is worked on as the last process that planned it said.
 */
export interface RowStore {
  /**
   * Validates the declarations and stores them for all processes. Throws `InputError` BAD_DISCOVERY, which names the real
   * columns, and then plans none: the table is missing, a view or of another database, a column is missing, the key is not
   * unique or of a type that cannot be one, the condition does not parse, writes, or holds parameters or a second statement.
   * Planned before it is worked on, and once more whenever the process starts.
   */
  planDiscoveries(sources: readonly DiscoverySource[]): Promise<PlannedDiscovery[]>

  /**
   * Hands in what is finished, takes what is next: one transaction. What concerns one row does not touch another. Nothing found
   * and `nextDueInMs` null: there is nothing that this worker may run; what others hold counts as nothing only if it is all there is.
   */
  exchangeRows(exchange: RowExchange): Promise<RowsExchanged>
  /**
   * Commits the handler's own writes together with `values`. The effects run when the row was found unchanged: what they write
   * to it is no edit of somebody else's. They are undone, and nothing else is written, unless the answer is `done`; what they
   * throw is thrown, and the claim stays.
   */
  completeRowWith(session: string, run: Run, values: CompletedRow, effects: Effects): Promise<RowAnswer>

  /** All that were ever planned and not forgotten, by name. */
  listDiscoveries(): Promise<DiscoveryRecord[]>
  /** Exact; computed aside, and at most a second old. */
  countRows(discovery: string): Promise<RowCounts>
  /**
   * Of these discoveries, and of no others, rows were just seen to wait. Answers since when every look has found some. Nothing
   * is written unless that has changed.
   */
  noteWaiting(discoveries: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Eligible rows in key order; with a state, those. */
  listRows(discovery: string, filter: { state?: RowState }, page: PageRequest): Promise<Page<RowRecord>>
  /** Null: the table has no such row. One that is not eligible says so. */
  findRow(discovery: string, key: string): Promise<RowRecord | null>
  /** Null: there is no such row, or it is not eligible. */
  getRow(discovery: string, key: string): Promise<RowRecord | null>
  /** The row as it is now. Null: there is no such row, or it is not eligible. */
  rowValues(discovery: string, key: string): Promise<RowValues | null>
  /** All that decides whether it can run now. */
  rowCircumstances(discovery: string, key: string): Promise<RowCircumstances>
  /** What kept it back is forgotten: it is next tried at once, with all its attempts; alone, if it took workers down. */
  retryRow(discovery: string, key: string): Promise<RetryRowAnswer>
  /** A bounded step of the same for all that are quarantined. Pass `next` on. */
  releaseRows(
    discovery: string,
    step: { limit: number; after: string | null },
  ): Promise<{ released: number; next: string | null }>
  /** The reason stands in `explain`; without one it was an operator. What is held goes on. Resuming clears the reason. */
  setDiscoveryPaused(discovery: string, paused: boolean): Promise<void>
}

/** What was declared, as plain data. */
export interface DiscoverySource {
  /** The name of the discovery. */
  name: string
  /** In the engine's own database; on PostgreSQL with a schema, if it is not on the search path. */
  table: string
  /** The columns that identify a row. */
  key: readonly string[]
  /** The condition of rows that need work. */
  where: string
  /** The column that changes with each edit; null: the row itself is compared. */
  version: string | null
  /** Columns, each with ASC or DESC; null: in key order. */
  orderBy: string | null
  /** After this many failed attempts a row is quarantined. */
  maxAttempts: number
  /** Crashes before it is quarantined. */
  crashLimit: number
}

export interface PlannedDiscovery {
  name: string
  columns: readonly string[]
  /** Finding the next row would read rows that are not eligible: the statement that mends it. Null: it does not. */
  createIndex: string | null
  /** Nothing tells an edit that was undone from no edit: a statement (or several) that adds a counter; null with a version column. */
  versionTrigger: string | null
  /** Statements that add a trigger, which tells when an app writes a row. Null: the database tells it already. */
  wakeTrigger: string | null
}

/** A discovery as it is stored. */
export interface DiscoveryRecord extends DiscoverySource {
  /** True if no worker claims its rows. */
  paused: boolean
  /** What stopped it; null when an operator did. */
  pausedReason: string | null
  /** The statement that creates the index its table lacks. Null: none is needed. */
  createIndex: string | null
}

export interface RowExchange {
  session: string
  starts: readonly Run[]
  outcomes: readonly (Run & { outcome: RowOutcome })[]
  want: RowClaimRequest | null
  /** The rows this worker knows to hold, to be compared with its claims, as in `Exchange`. */
  holding?: readonly string[]
}

export interface RowClaimRequest {
  /** Names; they are served in turn. Stays the same array for the worker's whole life. */
  discoveries: readonly string[]
  /** How many it can start at once. */
  start: number
  /** How many more it would hold ahead, because they are short. */
  ahead: number
  /** It holds nothing, neither rows nor tasks: it may take one suspect, alone. */
  empty: boolean
  /** A caller waits for `drained`: read everything, however much of it is kept back. */
  thorough?: boolean
  /** Ids of suspects that this worker has crashed on: if it can do nothing but crash, it should show that on others. */
  avoid?: readonly string[]
}

export interface RowClaim extends ClaimProof {
  /** `<discovery>/<key>`. The fence is of the same sequence as those of tasks. */
  id: string
  discovery: string
  key: string
  /** As it was read with the claim. Integers beyond 2^53 are bigints; on SQLite a flag is what was stored. */
  row: RowValues
  /** From 1. */
  attempt: number
  maxAttempts: number
  /** Claimed to be started at once; otherwise held ahead and reported in `starts` later. */
  started: boolean
  /** To be run alone. */
  suspect: boolean
}

export interface RowsExchanged {
  claims: RowClaim[]
  /** One for each outcome, in their order. */
  answers: RowAnswer[]
  /** Ids of `starts` and `holding` whose claim is not ours any more. */
  refused: string[]
  /** The session has ended: everything that it held is gone, and each answer is `refused`. */
  sessionEnded: boolean
  /** Suspects wait for a worker that is empty, which this one is not; told although something else was found. */
  suspectsWaiting: boolean
  /** When to look again, although nothing tells: a row's backoff ends, or the look was not finished. Null: when woken. */
  nextDueInMs: number | null
  /** Discoveries that this claim has paused, because they cannot be worked on. */
  broken?: readonly BrokenDiscovery[]
  /** Everything is paused; left out when nothing was asked for, or something was found. */
  paused?: boolean
  /** Rows that it found and that another worker claimed first. */
  conflicts?: number
  /** As in `Exchanged`. */
  compare?: boolean
}

/** A discovery that was paused because it does not fit its table, or its condition fails. */
export interface BrokenDiscovery {
  discovery: string
  reason: string
}

/** `retryAfterMs` as in `RowOutcome`. */
export interface CompletedRow {
  values: RowValues
  retryAfterMs: number
}

export type RetryRowAnswer = 'retried' | 'waiting' | 'claimed' | 'gone'
