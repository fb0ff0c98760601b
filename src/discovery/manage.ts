import { checkName, shown } from '../define/names.ts'
import { GleanerError, InputError } from '../errors.ts'
import type { Explanation } from '../model/explanation.ts'
import { ROW_STATES, type RowRecord, type RowState } from '../model/row.ts'
import { explainRow } from '../model/row-explanation.ts'
import type { Page } from '../model/task.ts'
import { isProvedDead } from '../process-identity.ts'
import { type PageOptions, pageRequest } from '../queue/manage.ts'
import type { Meter } from '../queue/meter.ts'
import { listDiscoveries, pauseDiscovery } from '../queue/pausing.ts'
import type { DiscoveryRecord, Store } from '../store/contract.ts'
import { type DiscoveryStats, readStats } from './stats.ts'

/** Rows that a release looks at in one transaction. */
const RELEASED_AT_ONCE = 500

export interface RowQuery extends PageOptions {
  state?: RowState
}

export interface DiscoveryManagement {
  /** All that some process has declared, by name. */
  list(): Promise<DiscoveryRecord[]>
  /** How many rows are in each state, how fast they are done, and how long it will take. */
  stats(name: string): Promise<DiscoveryStats>
  /** Rows that need work, in the order of their keys. */
  rows(name: string, query?: RowQuery): Promise<Page<RowRecord>>
  /** Null: there is no such row, or it needs no work. The key is text; of several columns a JSON array. */
  row(name: string, key: string): Promise<RowRecord | null>
  /** Why is this row not worked on? Each condition in order, pass or fail, with what to do. */
  explain(name: string, key: string): Promise<Explanation>
  /** A row that backs off, or was quarantined, is tried again at once, with all its attempts. */
  retry(name: string, key: string): Promise<void>
  /** Out of quarantine: one row to try, or all of them. The answer is how many. */
  release(name: string, key?: string): Promise<number>
  /** Nothing more is claimed; what runs goes on. */
  pause(name: string): Promise<void>
  resume(name: string): Promise<void>
}

export function discoveryManagement(store: Store, meter: Meter): DiscoveryManagement {
  return {
    list: () => listDiscoveries(store),
    stats: async (name) => readStats(store, meter, named(name)),
    async rows(name, { limit, cursor, ...filter } = {}) {
      return store.listRows(named(name), checkFilter(filter), pageRequest({ limit, cursor }))
    },
    row: async (name, key) => store.getRow(named(name), String(key)),
    async explain(name, key) {
      const at = await store.rowCircumstances(named(name), String(key))
      // A process that is dead for certain serves nobody, though no sweeper has ended its session yet.
      return explainRow({ ...at, workers: at.workers.filter(({ process }) => !isProvedDead(process, store)) })
    },
    async retry(name, key) {
      const answer = await store.retryRow(named(name), String(key))
      if (answer === 'claimed') throw claimed(name, key)
      if (answer === 'gone') throw gone(name, key)
    },
    async release(name, key) {
      if (key === undefined) return releaseAll(store, named(name))
      const row = await store.getRow(named(name), String(key))
      if (row === null) throw gone(name, key)
      if (row.state !== 'quarantined') return 0
      return (await store.retryRow(name, String(key))) === 'retried' ? 1 : 0
    },
    pause: async (name) => pauseDiscovery(store, named(name)),
    resume: async (name) => store.setDiscoveryPaused(named(name), false),
  }
}

async function releaseAll(store: Store, name: string): Promise<number> {
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

function checkFilter(filter: { state?: RowState }): { state?: RowState } {
  const unknown = Object.keys(filter).find((option) => option !== 'state')
  if (unknown !== undefined)
    throw bad(`rows has no option ${shown(unknown)}`, 'There are: state, limit, cursor.')
  const { state } = filter
  if (state === undefined) return {}
  if (ROW_STATES.includes(state)) return { state }
  throw bad(`state: ${shown(state)} is not possible`, `There are: ${ROW_STATES.join(', ')}.`)
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}

function claimed(name: string, key: string): GleanerError {
  return new GleanerError(`row ${key} of ${name} is being worked on`, {
    code: 'ROW_STATE',
    hint: 'Only a row that backs off or is quarantined can be retried.',
  })
}

function gone(name: string, key: string): GleanerError {
  return new GleanerError(`${name} has no row ${shown(key)} that needs work`, {
    code: 'ROW_GONE',
    hint: `discoveries.explain('${name}', key) says why.`,
  })
}
