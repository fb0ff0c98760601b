import { GleanerError } from '../errors.ts'
import { unfinishedOf } from '../model/row.ts'
import { paceOf } from '../model/row-pace.ts'
import type { Meter } from '../observe/meter.ts'
import { countAndNote, describeDiscoveries } from '../observe/rows.ts'
import type { Store } from '../store/ports/store.ts'

/** What the pace is of. */
const WINDOW_MS = 5 * 60_000

/** How many rows of a discovery are in each state, and how fast they are done. */
export interface DiscoveryStats {
  /** The name of the discovery. */
  name: string
  /** Rows that need work and can be claimed now. */
  waiting: number
  /** Rows that a worker holds. */
  claimed: number
  /** Rows that wait for a signal or for children. */
  suspended: number
  /** Rows that failed and wait for their next attempt. */
  backingOff: number
  /** Rows that failed or crashed their worker too often. */
  quarantined: number
  /** Rows done per minute in the last 5 minutes, across all processes. */
  donePerMinute: number
  /** The average duration of a row in these minutes. Null when no row was done. */
  averageMs: number | null
  /** The estimated time until all rows except the quarantined ones are done, at this pace. Null when no row was done in these minutes. */
  etaMs: number | null
  /** True if no worker claims rows of this discovery. */
  paused: boolean
  /** Why Gleaner paused the discovery. Null when it is not paused, or an operator paused it. */
  pausedReason: string | null
  /** The row counts are exact as of this time, at most a second ago. */
  asOf: number
}

/** What this process has done so far is part of it; of other processes, what they have written down. */
export async function readStats(
  store: Pick<Store, 'rows' | 'admin'>,
  meter: Meter,
  name: string,
): Promise<DiscoveryStats> {
  await meter.flush()
  const counts = await countAndNote(store, name)
  const { waiting, claimed, suspended, backingOff, quarantined, asOf } = counts
  const discovery = (await describeDiscoveries(store)).find((one) => one.name === name)
  if (discovery === undefined)
    throw new GleanerError(`there is no discovery ${name}`, {
      code: 'UNKNOWN_DISCOVERY',
      hint: 'Another process removed it, or it was never declared. Give its definition to openGleaner({ discoveries }).',
    })
  const pace = paceOf(await store.admin.readMetrics(WINDOW_MS), name)
  return {
    name,
    waiting,
    claimed,
    suspended,
    backingOff,
    quarantined,
    donePerMinute: pace.donePerMinute,
    averageMs: pace.averageMs,
    etaMs: etaMs(unfinishedOf(counts), pace.donePerMinute),
    paused: discovery.paused,
    pausedReason: discovery.pausedReason,
    asOf,
  }
}

function etaMs(left: number, donePerMinute: number): number | null {
  if (left === 0) return 0
  return donePerMinute === 0 ? null : Math.round((left / donePerMinute) * 60_000)
}
