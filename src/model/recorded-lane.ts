import type { HealthRecord } from './health.ts'
import type { Lane, Recorded } from './timeline.ts'

/** All are written down every 30 s. Who is missed twice, nobody watched. */
const UNWATCHED_MS = 75_000

/** What the history of health tells of each component, the oldest first. `notes`: the newest first, as they are read. */
export function recordedOf(notes: readonly HealthRecord[]): Map<string, Recorded[]> {
  const all = new Map<string, Recorded[]>()
  for (const { component, status: health, at } of notes.toReversed()) {
    const recorded = all.get(component) ?? []
    all.set(component, recorded)
    const last = recorded.at(-1)
    // Notes of one moment may stand in any order, and clocks are set back.
    if (last !== undefined && at < last.to) continue
    const isWatched = last !== undefined && at - last.to <= UNWATCHED_MS
    if (isWatched) last.to = at
    if (!isWatched || last.health !== health) recorded.push({ from: at, to: at, health })
  }
  return all
}

/** What was seen, and before that (or of workers of other supervisors) what was written down. */
export function withRecorded(lanes: readonly Lane[], recorded: ReadonlyMap<string, Recorded[]>): Lane[] {
  const seen = new Map(lanes.map((lane) => [lane.worker, lane]))
  const workers = new Set([...seen.keys(), ...recorded.keys()])
  return [...workers].map((worker) => {
    const lane = seen.get(worker) ?? { worker, stretches: [], exits: [], recorded: [] }
    const until = lane.stretches[0]?.from ?? Number.POSITIVE_INFINITY
    const before = (recorded.get(worker) ?? []).filter(({ from }) => from < until)
    return { ...lane, recorded: before.map((one) => ({ ...one, to: Math.min(one.to, until) })) }
  })
}
