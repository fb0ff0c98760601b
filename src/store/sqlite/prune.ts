import { limitsOf, type Retention } from '../../model/retention.ts'
import type { FinishedStatus } from '../../model/task.ts'
import type { Lane } from '../lane.ts'
import type { PruneStep } from '../upkeep.ts'
import type { Statements } from './statements.ts'

/** Finished tasks that need not be kept, `limit` at most. One index serves: the oldest of each lane stand first in it. */
export function prunable(
  db: Statements,
  lanes: readonly Lane[],
  retention: Retention,
  limit: number,
  now: number,
): number[] {
  const found = new Set<number>()
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.ageMs !== null) {
      for (const lane of lanes) {
        const expired = oldest(db, lane, status, now - keep.ageMs, limit - found.size)
        for (const { id } of expired) found.add(id)
      }
    }
    if (keep.count !== null) {
      for (const ofQueue of Map.groupBy(lanes, (lane) => lane.queue).values()) {
        for (const id of surplus(db, ofQueue, status, keep.count, limit - found.size)) found.add(id)
      }
    }
  }
  return [...found].slice(0, limit)
}

interface Finished {
  id: number
  finished_at: number
}

function oldest(
  db: Statements,
  lane: Lane,
  status: FinishedStatus,
  until: number,
  limit: number,
): Finished[] {
  if (limit <= 0) return []
  return db
    .sql(`SELECT id, finished_at FROM gleaner_tasks
          WHERE lane = ? AND status = ? AND finished_at IS NOT NULL AND finished_at <= ?
          ORDER BY finished_at, id LIMIT ?`)
    .all(lane.id, status, until, limit) as Finished[]
}

/** The oldest of a queue beyond the newest `count`. The counters say how many there are. */
function surplus(
  db: Statements,
  lanes: readonly Lane[],
  status: FinishedStatus,
  count: number,
  limit: number,
): number[] {
  const present = lanes.reduce((sum, lane) => sum + counterOf(db, lane, status), 0)
  const take = Math.min(present - count, limit)
  if (take <= 0) return []
  return lanes
    .flatMap((lane) => oldest(db, lane, status, Number.MAX_SAFE_INTEGER, take))
    .sort((a, b) => a.finished_at - b.finished_at || a.id - b.id)
    .slice(0, take)
    .map(({ id }) => id)
}

function counterOf(db: Statements, lane: Lane, status: FinishedStatus): number {
  return db.scalar(`SELECT ${status} FROM gleaner_lanes WHERE id = ?`).get(lane.id) as number
}

/**
 * Whose turn it is to prune: one process at a time is enough. A turn ends by itself; one that ends later than any could
 * was taken by a clock that went wrong. Null: somebody else has it.
 */
export function takeTurn(
  db: Statements,
  { held, forMs }: NonNullable<PruneStep['turn']>,
  now: number,
): number | null {
  const until = now + forMs
  const { changes } = db
    .sql(`INSERT INTO gleaner_meta (key, value) VALUES ('prune_turn', ?) ON CONFLICT (key) DO UPDATE
          SET value = excluded.value WHERE value <= ? OR value > ? OR value = ?`)
    .run(until, now, until, held)
  return changes === 1 ? until : null
}
