import { limitsOf, type Retention } from '../../../model/retention.ts'
import type { FinishedStatus } from '../../../model/task.ts'
import { LANES_PER_STEP } from '../../prune-walk.ts'
import type { PruneStep } from '../../upkeep.ts'
import type { Statements } from '../file/statements.ts'

export interface Prunable {
  ids: number[]
  /** The lanes that were looked into, and the one at which there was no room for more. */
  lanes: { id: number }[]
  unfinished: number | null
}

/**
 * Finished tasks that need not be kept, `limit` at most: what a queue has too many of, and what is too old in the next lanes
 * after `position`. One index serves: the oldest of each lane stand first in it.
 */
export function prunable(
  db: Statements,
  position: number,
  retention: Retention,
  limit: number,
  now: number,
): Prunable {
  const found = new Set<number>()
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.count === null) continue
    for (const id of surplus(db, status, keep.count, limit - found.size)) found.add(id)
  }
  const lanes = db
    .sql(`SELECT id FROM gleaner_lanes WHERE id > ? ORDER BY id LIMIT ${LANES_PER_STEP}`)
    .all(position) as { id: number }[]
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.ageMs === null) continue
    for (const id of outdated(db, lanes, status, now - keep.ageMs, limit - found.size)) found.add(id)
    // The other states of these lanes have their turn when the step is repeated.
    if (found.size >= limit) return { ids: [...found], lanes, unfinished: lanes[0]?.id ?? null }
  }
  return { ids: [...found], lanes, unfinished: null }
}

/** One statement for all lanes: most of thousands have nothing. */
function outdated(
  db: Statements,
  lanes: readonly { id: number }[],
  status: FinishedStatus,
  until: number,
  limit: number,
): number[] {
  if (limit <= 0) return []
  return db
    .scalar(`SELECT t.id FROM json_each(?) l CROSS JOIN gleaner_tasks t
             WHERE t.lane = l.value AND t.status = ? AND t.finished_at IS NOT NULL AND t.finished_at <= ? LIMIT ?`)
    .all(JSON.stringify(lanes.map(({ id }) => id)), status, until, limit) as number[]
}

interface Finished {
  id: number
  finished_at: number
}

function oldest(
  db: Statements,
  lane: number,
  status: FinishedStatus,
  until: number,
  limit: number,
): Finished[] {
  if (limit <= 0) return []
  return db
    .sql(`SELECT id, finished_at FROM gleaner_tasks
          WHERE lane = ? AND status = ? AND finished_at IS NOT NULL AND finished_at <= ?
          ORDER BY finished_at, id LIMIT ?`)
    .all(lane, status, until, limit) as Finished[]
}

/** The oldest of each queue beyond the newest `count`. The counters say how many there are. */
function surplus(db: Statements, status: FinishedStatus, count: number, limit: number): number[] {
  const queues = db
    .sql(`SELECT queue, sum(${status}) AS present FROM gleaner_lanes GROUP BY queue HAVING present > ?`)
    .all(count) as { queue: string; present: number }[]
  return queues
    .flatMap(({ queue, present }) => oldestOf(db, queue, status, Math.min(present - count, limit)))
    .slice(0, Math.max(0, limit))
}

/** Of so many lanes at most. */
function oldestOf(db: Statements, queue: string, status: FinishedStatus, take: number): number[] {
  const lanes = db
    .scalar(
      `SELECT id FROM gleaner_lanes WHERE queue = ? AND ${status} > 0 ORDER BY id LIMIT ${LANES_PER_STEP}`,
    )
    .all(queue) as number[]
  return lanes
    .flatMap((lane) => oldest(db, lane, status, Number.MAX_SAFE_INTEGER, take))
    .sort((a, b) => a.finished_at - b.finished_at || a.id - b.id)
    .slice(0, Math.max(0, take))
    .map(({ id }) => id)
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
