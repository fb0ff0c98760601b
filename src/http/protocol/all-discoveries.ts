import type { Gleaner } from '../../engine/gleaner.ts'
import type { DiscoveryRecord } from '../../store/ports/rows.ts'
import type { Discovery } from '../wire/types.ts'

/** For the command line as well, which loads no server for it. */
export async function allDiscoveries(gleaner: Gleaner): Promise<Discovery[]> {
  const all: Discovery[] = []
  for (const record of await gleaner.discoveries.list()) {
    all.push(await withStats(gleaner, record))
  }
  return all
}

/** One that does not fit its table is shown without numbers, and hides none of the others. */
export async function withStats(gleaner: Gleaner, record: DiscoveryRecord): Promise<Discovery> {
  const { name, paused, pausedReason } = record
  const stats = await gleaner.discoveries.stats(name).catch(() => UNKNOWN)
  return { ...record, ...stats, name, paused, pausedReason }
}

const UNKNOWN = {
  waiting: null,
  claimed: null,
  suspended: null,
  backingOff: null,
  quarantined: null,
  donePerMinute: null,
  averageMs: null,
  etaMs: null,
  asOf: null,
}
