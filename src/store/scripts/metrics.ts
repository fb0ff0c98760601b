import { firstMinute, type Measured, type Present, type Readings } from '../../model/metrics.ts'
import { addedUp, type MinuteRow, measuredIn } from '../metrics-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rows, type Script } from '../sql/script.ts'
import { type Fragment, sql } from '../sql/sql.ts'
import { countLanes } from './counts.ts'

/** All that was ever measured. */
export function readTotals({ schema }: Dialect): Script<Measured[]> {
  return readMinutes(schema.measuredEver)
}

export function* readMetrics(db: Dialect, windowMs: number): Script<Readings> {
  const now = yield* db.time()
  const minutes = yield* readMinutes(db.schema.measuredSince(firstMinute(now, windowMs)))
  return { now, present: yield* readPresent(db), minutes }
}

/** One entry for each minute and name, although a database may have several rows. */
function* readMinutes(measured: Fragment): Script<(Measured & { minute: number })[]> {
  const all = new Map<string, MinuteRow>()
  for (const row of yield* rows<MinuteRow>(measured)) {
    const key = `${row.minute}/${row.queue}/${row.name}`
    const known = all.get(key)
    all.set(key, known === undefined ? row : addedUp(known, measuredIn(row), row.minute))
  }
  return [...all.values()].map(measuredIn)
}

function* readPresent(db: Dialect): Script<Present[]> {
  const lanes = yield* countLanes(db)
  const oldest = yield* rows<{ lane: number; waiting_since: number }>(
    sql`SELECT lane, waiting_since FROM gleaner.lane_oldest`,
  )
  const since = new Map(oldest.map((row) => [row.lane, row.waiting_since]))
  return lanes.map(({ id, queue, name, scheduled, queued, running, suspended }) => {
    return { queue, name, scheduled, queued, running, suspended, waitingSince: since.get(id) ?? null }
  })
}
