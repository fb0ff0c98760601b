import { GleanerError } from '../errors.ts'
import { unfinishedOf } from '../model/row.ts'
import { paceOf } from '../model/row-pace.ts'
import type { Meter } from '../queue/meter.ts'
import { listDiscoveries } from '../queue/pausing.ts'
import { countAndNote } from '../queue/row-count.ts'
import type { Store } from '../store/contract.ts'

/** What the pace is of. */
const WINDOW_MS = 5 * 60_000

export interface DiscoveryStats {
  name: string
  waiting: number
  claimed: number
  backingOff: number
  quarantined: number
  /** Of all processes, in the last minutes. */
  donePerMinute: number
  /** How long a row takes: a rolling average over those minutes; null when none was done. */
  averageMs: number | null
  /** Until none is left that is not quarantined, at this pace; null when nothing is being done. */
  etaMs: number | null
  paused: boolean
  /** Why it cannot be worked on; null when it is not paused, or an operator paused it. */
  pausedReason: string | null
  /** The numbers of rows are exact as of then, which is at most a second ago. */
  asOf: number
}

/** What this process has done so far is part of it; of other processes, what they have written down. */
export async function readStats(store: Store, meter: Meter, name: string): Promise<DiscoveryStats> {
  await meter.flush()
  const counts = await countAndNote(store, name)
  const { waiting, claimed, backingOff, quarantined, asOf } = counts
  const discovery = (await listDiscoveries(store)).find((one) => one.name === name)
  if (discovery === undefined)
    throw new GleanerError(`discovery ${name} is gone`, { code: 'UNKNOWN_DISCOVERY' })
  const pace = paceOf(await store.readMetrics(WINDOW_MS), name)
  return {
    name,
    waiting,
    claimed,
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
