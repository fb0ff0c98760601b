import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { RetryPolicy } from '../model/retry.ts'
import type { ColumnValue } from '../model/row.ts'
import { declareOptions, type Parts, refuseUnknown } from '../options.ts'
import {
  type BatchContext,
  type BatchDefinition,
  type BatchOptions,
  type BatchResults,
  checkBatch,
} from './batch.ts'
import { checkName, shown } from './names.ts'
import { checkUses, type Resources, type Uses } from './resource.ts'
import { retryPolicy } from './retry.ts'
import { type AnyHandler, checkHandler, checkSchema, type Handler } from './task.ts'
import type { Context, Retry } from './types.ts'

const TIMEOUT_DEFAULT = '1h'
/** Of a condition or an order, in characters; of a name of a table or a column, likewise. */
const CONDITION_MAX = 10_000
const IDENTIFIER_MAX = 200
const KEY_COLUMNS_MAX = 8

/** What `defineDiscovery` takes, beside the row's schema and the functions. */
// biome-ignore lint/complexity/noBannedTypes: no resources
export interface DiscoveryOptions<U extends Resources = {}> {
  /** Names the discovery: in pools, in `work`, in logs and in the dashboard. */
  name: string
  /** In the engine's own database. */
  table: string
  /** What tells its rows apart: a column that is unique, or several that are so together. */
  key: string | readonly string[]
  /** A condition in SQL: rows for which it holds need work. It comes from your code, never from a request. */
  where: string
  /** A column that changes whenever the row does. Left out, the row as it was claimed is compared. */
  version?: string
  /** What comes first, e.g. `'priority, created_at DESC'`. Default: the order of the key. */
  orderBy?: string
  /** Default 3 attempts, exponential from 1 s to 5 min, ±10 %; then the row is quarantined. */
  retry?: Retry
  /** Default 1 h. */
  timeout?: Duration
  /** Resources for `ctx.use`. A process loads each once, before the first run that needs it. */
  uses?: U
}

declare const types: unique symbol

/** The definition of a discovery: what is found is in the table, what is done is in its code. */
export interface Discovery<R = any> {
  /** The name that `defineDiscovery` got. */
  readonly name: string
  readonly [types]?: { result: R }
}

/** The row that a handler gets: what its schema returns, or a record of columns without a schema. */
export type RowOf<S> = S extends Std ? Std.InferOutput<S> : Record<string, any>

/** What the engine sees of a definition. */
export interface DiscoveryDefinition {
  readonly name: string
  readonly table: string
  readonly key: readonly string[]
  readonly where: string
  readonly version: string | null
  readonly orderBy: string | null
  readonly row: Std | undefined
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly uses: Uses | null
  /** Its handler takes many rows at once. */
  readonly batch: BatchDefinition | null
  readonly run: Handler | undefined
  readonly done: (result: any, row: any) => unknown
}

/** Shared by all copies of this package in a program, so that each recognises the other's definitions. */
const BRAND = Symbol.for('gleaner.discovery')

const OPTIONS = declareOptions<DiscoveryOptions & Parts<'row' | 'batch' | 'run' | 'done'>>(
  'defineDiscovery',
  {
    name: true,
    table: true,
    key: true,
    where: true,
    version: true,
    orderBy: true,
    row: true,
    retry: true,
    timeout: true,
    uses: true,
    batch: true,
    run: true,
    done: true,
  },
)

/** Rows of a table of your own that need work: workers find them, claim them, run your code, and mark them done. */
// biome-ignore lint/complexity/noBannedTypes: no resources
export function defineDiscovery<R, S extends Std | undefined = undefined, U extends Resources = {}>(
  options: DiscoveryOptions<U> & {
    /** Types and checks the row. A row that does not fit is put aside, with the reason. */
    row?: S
    /** Left out, a program of a foreign pool does it: its results are given to `done` here. */
    run?: (rows: RowOf<S>[], ctx: BatchContext<U>) => BatchResults<R> | Promise<BatchResults<R>>
    /** Collects rows, and calls `run` once for many of them. */
    batch: BatchOptions<NoInfer<RowOf<S>>>
    /** The columns to set when it is done; afterwards `where` must not hold for the row any more. */
    done: (result: NoInfer<Awaited<R>>, row: RowOf<S>) => Record<string, ColumnValue>
  },
): Discovery<Awaited<R>>
// biome-ignore lint/complexity/noBannedTypes: no resources
export function defineDiscovery<R, S extends Std | undefined = undefined, U extends Resources = {}>(
  options: DiscoveryOptions<U> & {
    /** Types and checks the row. A row that does not fit is put aside, with the reason. */
    row?: S
    /** Left out, a program of a foreign pool does it: its results are given to `done` here. */
    run?: (row: RowOf<S>, ctx: Context<U>) => R
    batch?: undefined
    /** The columns to set when it is done; afterwards `where` must not hold for the row any more. */
    done: (result: NoInfer<Awaited<R>>, row: RowOf<S>) => Record<string, ColumnValue>
  },
): Discovery<Awaited<R>>
export function defineDiscovery(
  options: DiscoveryOptions<any> & {
    row?: Std
    run?: AnyHandler
    batch?: BatchOptions | undefined
    done: (result: any, row: any) => Record<string, ColumnValue>
  },
): Discovery {
  if (typeof options !== 'object' || options === null)
    throw bad('defineDiscovery', options, 'Give an object.')
  const name = checkName(options.name, 'defineDiscovery: name', 'BAD_DEFINITION')
  const what = `discovery ${name}`
  refuseUnknown(options, OPTIONS, what, 'BAD_DEFINITION')
  const { version, orderBy } = options
  const definition: DiscoveryDefinition = {
    name,
    table: checkText(options.table, `${what}: table`, IDENTIFIER_MAX, "Use its name, e.g. 'library_files'."),
    key: checkKeyColumns(options.key, `${what}: key`),
    where: checkText(options.where, `${what}: where`, CONDITION_MAX, "Use SQL, e.g. 'needs_tagging = 1'."),
    version: version === undefined ? null : checkColumn(version, `${what}: version`),
    orderBy: orderBy === undefined ? null : checkText(orderBy, `${what}: orderBy`, CONDITION_MAX, ORDER_HINT),
    row: checkSchema(options.row, `${what}: row`),
    retry: retryPolicy(options.retry, `${what}: retry`),
    timeoutMs: durationMs(options.timeout ?? TIMEOUT_DEFAULT, `${what}: timeout`),
    uses: checkUses(options.uses, what),
    batch: checkBatch(options.batch, `${what}: batch`),
    run: options.run === undefined ? undefined : checkHandler(options.run, what),
    done: checkDone(options.done, what),
  }
  return brand(definition)
}

/** The same discovery, done by something else than its own code, which therefore uses nothing of ours. It may not take batches. */
export function rowsDoneBy(
  discovery: Discovery,
  run: (definition: DiscoveryDefinition) => Handler,
  { batches }: { batches: boolean },
): Discovery {
  const own = discoveryOf(discovery)
  const definition = { ...own, uses: null, batch: batches ? own.batch : null }
  return brand({ ...definition, run: run(definition) })
}

function brand(definition: DiscoveryDefinition): Discovery {
  return Object.freeze({ name: definition.name, [BRAND]: Object.freeze(definition) })
}

export function discoveryOf(discovery: unknown): DiscoveryDefinition {
  const definition = (discovery as { [BRAND]?: DiscoveryDefinition } | null | undefined)?.[BRAND]
  if (definition !== undefined) return definition
  throw new InputError(`${shown(discovery)} is not a discovery`, {
    code: 'UNKNOWN_DISCOVERY',
    hint: 'Pass what defineDiscovery returned.',
  })
}

const ORDER_HINT = "Use columns, e.g. 'priority, created_at DESC'."

function checkText(value: unknown, what: string, max: number, hint: string): string {
  const isText = typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
  if (isText && value.length <= max) return value
  throw bad(what, value, isText ? `It has more than ${max} characters.` : hint)
}

function checkColumn(value: unknown, what: string): string {
  return checkText(value, what, IDENTIFIER_MAX, "Use the name of a column, e.g. 'id'.")
}

function checkKeyColumns(key: unknown, what: string): readonly string[] {
  if (!Array.isArray(key)) return [checkColumn(key, what)]
  if (key.length === 0 || key.length > KEY_COLUMNS_MAX)
    throw bad(what, `${key.length} columns`, `Use 1 to ${KEY_COLUMNS_MAX} columns.`)
  const columns = key.map((column) => checkColumn(column, what))
  const twice = columns.find((column, index) => columns.indexOf(column) !== index)
  if (twice !== undefined) throw bad(what, twice, 'It is named twice.')
  return Object.freeze(columns)
}

function checkDone(done: unknown, what: string): DiscoveryDefinition['done'] {
  if (typeof done === 'function') return done as DiscoveryDefinition['done']
  throw bad(`${what}: done`, done, 'Pass a function that returns the columns to set.')
}

function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_DEFINITION', hint })
}
