import type { PostgresOptions } from '../../ports/database.ts'

/** How a transaction is to be. */
export interface TransactionOptions {
  /** Its commit is on disk before it is answered; default true. */
  durable?: boolean
  /** Its statements find rows by their place in an index only; see `BY_INDEX`. */
  byIndex?: boolean
  /** What somebody else has locked for longer than that is an error; default 10 s. */
  lockTimeoutMs?: number
  /** What it writes to the user's tables is no news to anybody; see `rows_written`. */
  quiet?: boolean
  /** A statement of it takes as long as it needs. */
  unhurried?: boolean
  /**
   * It contains SQL of the user, or it can start triggers of the user: names are resolved by the search_path of the role. Our own SQL in it
   * must name each function with its schema and give each operator the exact types that it is declared for.
   */
  runsUserSql?: boolean
}

/** A setting that ends with its transaction. */
export type Setting = readonly [name: string, value: string]

/**
 * What Gleaner relies on, whatever the server, the database or the role sets. In every transaction, and only there: behind
 * PgBouncer in transaction mode a setting of the session would stay with a connection that other clients get next.
 */
const ALWAYS: readonly Setting[] = [
  // Compiling a plan takes 150 ms, and `enable_seqscan = off` makes short statements look expensive enough for it.
  ['jit', 'off'],
  ['plan_cache_mode', 'auto'],
  // Versions and hashes of rows are compared as text, and the driver reads dates and intervals in these formats only.
  ['DateStyle', 'ISO'],
  ['IntervalStyle', 'postgres'],
  ['extra_float_digits', '1'],
  ['bytea_output', 'hex'],
]

/**
 * The server resolves a function or an operator to the best match of the argument types in all schemas of the search_path.
 * If any role can create functions in one of them, it could make us run its code.
 */
const OWN_PATH: Setting = ['search_path', 'pg_catalog, pg_temp']

const NOT_SYNCED: Setting = ['synchronous_commit', 'off']
/**
 * The planner knows how many tasks were held when it last counted: mostly none. It then joins what a worker hands in or
 * takes by reading the whole table, or each row of it against each row handed in.
 */
const BY_INDEX: readonly Setting[] = [
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
  // Off for reports in some databases: no way to join would be left.
  ['enable_nestloop', 'on'],
]

/**
 * One plan serves the usual exchange, of tasks or of rows, whatever its size: otherwise the server would make the first five times a new
 * one, at a millisecond or two, or each time, because it believes that a few rows are found better than many.
 */
export const PLANNED_ONCE: Setting = ['plan_cache_mode', 'force_generic_plan']

/** Each statement sees what was committed before it began, whatever the server's default is: who waited for a lock sees what happened meanwhile. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** What holds for every connection, from the start; 0: no limit. */
const TIMEOUTS_MS = { statement: 30_000, lock: 10_000, idleInTransaction: 60_000 }

type Timeouts = Record<'statement_timeout' | 'lock_timeout' | 'idle_in_transaction_session_timeout', number>

export function timeoutsOf(options: PostgresOptions): Timeouts {
  return {
    statement_timeout: options.statementTimeoutMs ?? TIMEOUTS_MS.statement,
    lock_timeout: options.lockTimeoutMs ?? TIMEOUTS_MS.lock,
    idle_in_transaction_session_timeout: TIMEOUTS_MS.idleInTransaction,
  }
}

/**
 * Behind PgBouncer in transaction mode a connection of ours is not a session: start-up settings are refused or ignored, and
 * what one statement sets another client may get.
 */
export function hasSession(options: PostgresOptions): boolean {
  return options.notify !== false
}

/** Settings that the server gets with the first message of a connection. */
export function startupSettings(options: PostgresOptions): Partial<Timeouts> {
  return hasSession(options) ? timeoutsOf(options) : {}
}

/** Settings that a connection would have from the start, for each transaction where it has none. */
export function settingsWithoutSession(options: PostgresOptions): readonly Setting[] {
  if (hasSession(options)) return []
  return Object.entries(timeoutsOf(options)).map(([name, ms]) => [name, String(ms)])
}

/** Later ones win. */
export function settingsOf(
  {
    durable = true,
    byIndex = false,
    quiet = false,
    lockTimeoutMs,
    unhurried = false,
    runsUserSql = false,
  }: TransactionOptions,
  before: readonly Setting[],
  ...more: readonly Setting[]
): Map<string, string> {
  return new Map([
    ...ALWAYS,
    ...before,
    ...(runsUserSql ? [] : [OWN_PATH]),
    ...(durable ? [] : [NOT_SYNCED]),
    ...(byIndex ? BY_INDEX : []),
    ...(quiet ? [['gleaner_rows.quiet', 'on'] as const] : []),
    ...(lockTimeoutMs === undefined ? [] : [['lock_timeout', String(lockTimeoutMs)] as const]),
    ...(unhurried ? [['statement_timeout', '0'] as const] : []),
    ...more,
  ])
}

/** The server knows it since version 17. */
const NO_TRANSACTION_TIMEOUT = `SELECT pg_catalog.set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'`

/** As one text of several statements: each is a little cheaper than a SELECT would be. */
export function beginning(settings: ReadonlyMap<string, string>, { unhurried }: TransactionOptions): string {
  const set = [...settings].map(([name, value]) => `SET LOCAL ${name} = ${literals(value)}`)
  return [BEGIN, ...set, ...(unhurried ? [NO_TRANSACTION_TIMEOUT] : [])].join('; ')
}

/** Each item of a list is a literal of its own. */
function literals(value: string): string {
  return value
    .split(', ')
    .map((item) => `'${item}'`)
    .join(', ')
}

/** As few statements that are sent one by one, and can be prepared. */
export function beginningInParts(
  settings: ReadonlyMap<string, string>,
  { unhurried }: TransactionOptions,
): string[] {
  const set = [...settings].map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`)
  return [BEGIN, `SELECT ${set.join(', ')}`, ...(unhurried ? [NO_TRANSACTION_TIMEOUT] : [])]
}
