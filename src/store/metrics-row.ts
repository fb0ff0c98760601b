import { addTo, readHistogram, writeHistogram } from '../model/histogram.ts'
import { type Incident, type Measured, MINUTE_MS } from '../model/metrics.ts'

/** How long minutes are kept. */
export const MINUTES_KEPT_MS = 7 * 24 * 60 * MINUTE_MS
/** Old minutes that one writing down takes away, at most. */
export const PRUNED_MAX = 500

/** Stands for a minute where all that ever was is added up: what counts without end, as Prometheus wants it. */
export const ALL_TIME = 0

/** A minute's row, in either store. */
export interface MinuteRow extends Omit<Measured, 'durations' | 'incidents'> {
  minute: number
  durations: string
  incidents: string
}

export function measuredIn(row: MinuteRow): Measured & { minute: number } {
  return { ...row, durations: readHistogram(row.durations), incidents: new Map(JSON.parse(row.incidents)) }
}

/** What was there and what came, together. */
export function addedUp(row: MinuteRow | undefined, more: Measured, minute: number): MinuteRow {
  const before = row ?? { enqueued: 0, completed: 0, failed: 0, retried: 0, durations: '[]', incidents: '[]' }
  return {
    minute,
    queue: more.queue,
    name: more.name,
    enqueued: before.enqueued + more.enqueued,
    completed: before.completed + more.completed,
    failed: before.failed + more.failed,
    retried: before.retried + more.retried,
    incidents: JSON.stringify([
      ...addTo(new Map<Incident, number>(JSON.parse(before.incidents)), more.incidents ?? []),
    ]),
    durations: writeHistogram(addTo(readHistogram(before.durations), more.durations)),
  }
}
