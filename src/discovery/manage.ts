import { checkName, shown } from '../define/names.ts'
import { GleanerError, InputError } from '../errors.ts'
import type { Explanation } from '../model/explanation.ts'
import { ROW_STATES, type RowRecord, type RowState, rowId } from '../model/row.ts'
import { explainRow } from '../model/row-explanation.ts'
import type { StepRecord } from '../model/step.ts'
import type { Page } from '../model/task.ts'
import type { Meter } from '../observe/meter.ts'
import { describeDiscoveries } from '../observe/rows.ts'
import { checkTypes, declareOptions, type Parts, refuseUnknown } from '../options.ts'
import { isProvedDead } from '../process-identity.ts'
import { type PageOptions, pageRequest } from '../queue/manage.ts'
import { pauseDiscovery } from '../queue/pausing.ts'
import { stepRecordsOf } from '../queue/steps.ts'
import type { DiscoveryRecord, RowStore } from '../store/ports/rows.ts'
import type { Store } from '../store/ports/store.ts'
import { type DiscoveryStats, readStats } from './stats.ts'

/** Rows that a release looks at in one transaction. */
const RELEASED_AT_ONCE = 500

/** Which rows to list. */
export interface RowQuery extends PageOptions {
  /** Only rows in this state. */
  state?: RowState
}

/** Rows of your own tables: list, explain, retry, release, pause. */
export interface DiscoveryManagement {
  /** All discoveries that any process has declared, ordered by name. */
  list(): Promise<DiscoveryRecord[]>
  /** The number of rows in each state, the pace, and the estimated time until all are done. */
  stats(name: string): Promise<DiscoveryStats>
  /** Rows that need work, in the order of their keys. */
  rows(name: string, query?: RowQuery): Promise<Page<RowRecord>>
  /**
   * One row. The key is a string, or a JSON array for several columns. Null: the table has no such row. A row that needs no work has the state
   * `ineligible`, or null with `needsWork: true`.
   */
  row(name: string, key: string, options?: { needsWork?: boolean }): Promise<RowRecord | null>
  /** What `ctx.step` and `ctx.sleep` kept of a row, for the version of the row that was claimed last. */
  steps(name: string, key: string): Promise<StepRecord[]>
  /** Why a row does not run: each condition in order, pass or fail, and what to do. */
  explain(name: string, key: string): Promise<Explanation>
  /** Runs a row that backs off or is quarantined as soon as possible, with all its attempts. */
  retry(name: string, key: string): Promise<void>
  /** Releases one row, or all rows, from quarantine. Returns how many. */
  release(name: string, key?: string): Promise<number>
  /** Workers claim no more rows of this discovery. Rows that run now continue. */
  pause(name: string): Promise<void>
  /** Ends a pause of this discovery. */
  resume(name: string): Promise<void>
}

export function discoveryManagement(
  store: Pick<Store, 'rows' | 'steps' | 'admin' | 'remote'>,
  meter: Meter,
): DiscoveryManagement {
  return {
    list: () => describeDiscoveries(store),
    stats: async (name) => readStats(store, meter, named(name)),
    async rows(name, query = {}) {
      refuseUnknown(query, ROWS, 'rows')
      return store.rows.listRows(named(name), checkFilter(query), pageRequest(query))
    },
    async row(name, key, options = {}) {
      refuseUnknown(options, ROW, 'row')
      checkTypes(options, { needsWork: 'boolean' }, 'row')
      const { needsWork = false } = options
      return store.rows[needsWork ? 'getRow' : 'findRow'](named(name), String(key))
    },
    steps: async (name, key) => stepRecordsOf(store.steps, rowId(named(name), String(key))),
    async explain(name, key) {
      const at = await store.rows.rowCircumstances(named(name), String(key))
      // A process that is dead for certain serves nobody, though no sweeper has ended its session yet.
      return explainRow({ ...at, workers: at.workers.filter(({ process }) => !isProvedDead(process, store)) })
    },
    async retry(name, key) {
      const answer = await store.rows.retryRow(named(name), String(key))
      if (answer === 'claimed') throw claimed(name, key)
      if (answer === 'gone') throw gone(name, key)
    },
    async release(name, key) {
      if (key === undefined) return releaseAll(store.rows, named(name))
      const row = await store.rows.getRow(named(name), String(key))
      if (row === null) throw gone(name, key)
      if (row.state !== 'quarantined') return 0
      return (await store.rows.retryRow(name, String(key))) === 'retried' ? 1 : 0
    },
    pause: async (name) => pauseDiscovery(store, named(name)),
    resume: async (name) => store.rows.setDiscoveryPaused(named(name), false),
  }
}

async function releaseAll(store: RowStore, name: string): Promise<number> {
  let released = 0
  let after: string | null = null
  do {
    const step = await store.releaseRows(name, { limit: RELEASED_AT_ONCE, after })
    released += step.released
    after = step.next
  } while (after !== null)
  return released
}

function named(name: unknown): string {
  return checkName(name, 'discovery', 'UNKNOWN_DISCOVERY')
}

const ROW = declareOptions<Parts<'needsWork'>>('row', { needsWork: true })
const ROWS = declareOptions<RowQuery>('rows', { state: true, limit: true, cursor: true })

function checkFilter({ state }: RowQuery): { state?: RowState } {
  if (state === undefined) return {}
  if (ROW_STATES.includes(state)) return { state }
  throw bad(`state: ${shown(state)} is not valid`, `Use one of: ${ROW_STATES.join(', ')}.`)
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}

function claimed(name: string, key: string): GleanerError {
  return new GleanerError(`row ${key} of ${name} is running`, {
    code: 'ROW_STATE',
    hint: 'Wait until its run ends. Only a row that backs off or is quarantined can be retried.',
  })
}

function gone(name: string, key: string): GleanerError {
  return new GleanerError(`${name} has no row ${shown(key)} that needs work`, {
    code: 'ROW_GONE',
    hint: `discoveries.explain('${name}', key) says why.`,
  })
}
