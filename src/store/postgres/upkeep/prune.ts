import { limitsOf, type Retention } from '../../../model/retention.ts'
import type { FinishedStatus } from '../../../model/task.ts'
import { LANES_PER_STEP } from '../../prune-walk.ts'
import type { PruneStep } from '../../upkeep.ts'
import type { Sql } from '../server/sql.ts'

/** A finished task at its place in the index. */
interface Finished {
  id: number
  lane: number
  status: FinishedStatus
  finished_at: number
}

/**
 * How far each lane was pruned. Rows that were removed stay in the index until vacuum; without this each step would walk
 * over all that the steps before it removed. A step that finds nothing forgets it: what finished late is found after that.
 */
export class PruneMarks {
  readonly #marks = new Map<string, Finished>()

  of(lanes: readonly LaneId[], status: FinishedStatus): { at: number[]; id: number[] } {
    const marks = lanes.map((lane) => this.#marks.get(`${lane.id} ${status}`))
    return { at: marks.map((mark) => mark?.finished_at ?? 0), id: marks.map((mark) => mark?.id ?? 0) }
  }

  /** In the order in which they were found. */
  removed(tasks: readonly Finished[]): void {
    for (const task of tasks) this.#marks.set(`${task.lane} ${task.status}`, task)
  }

  forget(): void {
    this.#marks.clear()
  }
}

export interface Prunable {
  found: Finished[]
  /** The lanes that were looked into, and the one at which there was no room for more. */
  lanes: { id: number }[]
  unfinished: number | null
}

/**
 * Finished tasks that need not be kept, `limit` at most, the oldest first: what a queue has too many of, and what is too old
 * in the next lanes after `position`.
 */
export async function prunable(
  sql: Sql,
  marks: PruneMarks,
  position: number,
  retention: Retention,
  limit: number,
  now: number,
): Promise<Prunable> {
  const found = new Map<number, Finished>()
  const oldest = async (among: readonly LaneId[], status: FinishedStatus, until: number, most: number) => {
    if (most <= 0 || among.length === 0) return
    for (const task of await oldestOf(sql, among, marks, status, until, most)) found.set(task.id, task)
  }
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.count === null) continue
    for (const { queue, surplus } of await surplusOf(sql, status, keep.count)) {
      const among = await lanesOf(sql, queue, status)
      await oldest(among, status, Number.MAX_SAFE_INTEGER, Math.min(surplus, limit - found.size))
    }
  }
  const lanes = await sql.rows<LaneId>(
    `SELECT id FROM gleaner.lanes WHERE id > $1 ORDER BY id LIMIT ${LANES_PER_STEP}`,
    [position],
  )
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.ageMs !== null) await oldest(lanes, status, now - keep.ageMs, limit - found.size)
  }
  const isFull = found.size >= limit
  return { found: [...found.values()], lanes, unfinished: isFull ? position + 1 : null }
}

interface LaneId {
  id: number
}

function oldestOf(
  sql: Sql,
  lanes: readonly LaneId[],
  marks: PruneMarks,
  status: FinishedStatus,
  until: number,
  limit: number,
): Promise<Finished[]> {
  const { at, id } = marks.of(lanes, status)
  return sql.rows<Finished>(
    `SELECT t.* FROM unnest($1::int[], $2::bigint[], $3::bigint[]) l(lane, since, since_id), LATERAL (
       SELECT one.id, f.lane, f.status, f.finished_at FROM gleaner.finished f CROSS JOIN LATERAL pg_catalog.unnest(f.tasks) one(id)
       WHERE f.lane = l.lane AND f.status = $4 AND f.finished_at >= l.since AND f.finished_at <= $5
         AND (f.finished_at, one.id) > (l.since, l.since_id)
       ORDER BY f.finished_at, one.id LIMIT $6) t
     ORDER BY t.finished_at, t.id LIMIT $6`,
    [lanes.map((lane) => lane.id), at, id, status, until, limit],
  )
}

/** The counters say how many there are, with what was not summed up yet. */
function surplusOf(
  sql: Sql,
  status: FinishedStatus,
  count: number,
): Promise<{ queue: string; surplus: number }[]> {
  return sql.rows(
    `SELECT l.queue, pg_catalog.sum(l.${status} + coalesce(t.n, 0)) - $1 AS surplus FROM gleaner.lanes l
     LEFT JOIN (SELECT lane, pg_catalog.sum(${status}) AS n FROM gleaner.tallies GROUP BY lane) t ON t.lane = l.id
     GROUP BY l.queue HAVING pg_catalog.sum(l.${status} + coalesce(t.n, 0)) > $1`,
    [count],
  )
}

/** So many of them at most, and those that hold something. */
function lanesOf(sql: Sql, queue: string, status: FinishedStatus): Promise<LaneId[]> {
  return sql.rows<LaneId>(
    `SELECT id FROM gleaner.lanes l WHERE queue = $1
       AND EXISTS (SELECT 1 FROM gleaner.finished f WHERE f.lane = l.id AND f.status = $2) ORDER BY id LIMIT ${LANES_PER_STEP}`,
    [queue, status],
  )
}

/**
 * Those of them that are still what they were, locked. In the background, what somebody else is at is left for the next
 * time; whoever asked for it waits, in the order of the ids, so that two do not wait for each other.
 */
export async function lockAsSeen(
  sql: Sql,
  tasks: readonly Finished[],
  inBackground: boolean,
): Promise<number[]> {
  const rows = await sql.rows<{ id: number }>(
    `SELECT t.id FROM gleaner.tasks t
     JOIN unnest($1::bigint[], $2::bigint[]) seen(id, finished_at) ON seen.id = t.id AND seen.finished_at = t.finished_at
     ORDER BY t.id FOR UPDATE OF t${inBackground ? ' SKIP LOCKED' : ''}`,
    [tasks.map(({ id }) => id), tasks.map(({ finished_at }) => finished_at)],
  )
  return rows.map(({ id }) => id)
}

/**
 * Whose turn it is to prune: one process at a time is enough. A turn ends by itself; one that ends later than any could
 * was taken by a clock that went wrong. Null: somebody else has it.
 */
export async function takeTurn(
  sql: Sql,
  { held, forMs }: NonNullable<PruneStep['turn']>,
  now: number,
): Promise<number | null> {
  const until = now + forMs
  const changed = await sql.run(
    `INSERT INTO gleaner.settings AS s (key, value) VALUES ('prune_turn', $1) ON CONFLICT (key) DO UPDATE
     SET value = excluded.value WHERE s.value <= $2 OR s.value > $1 OR s.value = $3`,
    [until, now, held],
  )
  return changed === 1 ? until : null
}
