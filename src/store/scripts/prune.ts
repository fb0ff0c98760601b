import { limitsOf, type Retention, sizeAfter } from '../../model/retention.ts'
import type { FinishedStatus } from '../../model/task.ts'
import type { Pruned, PruneStep } from '../ports/maintenance.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { type Fragment, sql, verbatim } from '../sql/sql.ts'
import { laneCounters } from './counts.ts'

/** Lanes that one step reads: there is one for each key of a limit, so there may be many. */
const LANES_PER_STEP = 500

/** A finished task at its place in the order in which tasks finished. */
export interface FinishedTask {
  id: number
  lane: number
  status: FinishedStatus
  finished_at: number
}

export interface OldestFinished {
  lanes: readonly number[]
  status: FinishedStatus
  until: number
  limit: number
  /** The oldest of all these lanes. Otherwise any that finished until then. */
  inOrder: boolean
}

/** How a database finds and removes finished tasks. */
export interface Pruning {
  /** A step that takes longer is followed by a smaller one. */
  readonly stepMs: number
  /** Selects finished tasks as `FinishedTask`. */
  select(oldest: OldestFinished): Fragment
  /** Tasks that the transaction has locked, with all that belongs to them. Answers how long the database needed, in ms. */
  remove(ids: readonly number[]): Script<number>
  /** After the commit, in the order in which they were found. */
  removed(tasks: readonly FinishedTask[]): void
  /** Every lane was read since the last call. */
  walkEnded(): void
}

/** Removes finished tasks that need not be kept: one small transaction. */
export async function pruneTasks(
  { db, read, writeStep, tell }: Scripts,
  pruning: Pruning,
  retention: Retention,
  { limit, afterLane: position = 0, turn: asked }: PruneStep,
): Promise<Pruned> {
  // Reads before it locks: mostly there is nothing to do.
  const { found, afterLane } = await read(() => prunable(db, pruning, { retention, limit, position }))
  if (found.length === 0) {
    if (afterLane === 0) pruning.walkEnded()
    const turn = asked?.held ?? null
    return { removed: 0, more: afterLane !== 0, afterLane, workMs: 0, next: 'same', turn }
  }
  const { ids, workMs, turn } = await writeStep(() => removeFound(db, pruning, found, asked))
  if (ids.length > 0) {
    pruning.removed(found)
    tell({ kind: 'ended', ids: ids.map(String) })
  }
  // If another process has them locked in the background, the next round is soon enough.
  const more = asked === undefined || ids.length > 0
  return { removed: ids.length, more, afterLane, workMs, next: sizeAfter(workMs, pruning.stepMs), turn }
}

function* removeFound(
  db: Dialect,
  { remove }: Pruning,
  found: readonly FinishedTask[],
  asked: PruneStep['turn'],
): Script<{ ids: number[]; workMs: number; turn: number | null }> {
  const turn = asked === undefined ? null : yield* takeTurn(db, asked)
  if (asked !== undefined && turn === null) return { ids: [], workMs: 0, turn }
  const ids = yield* lockAsFound(db, found, asked !== undefined)
  return { ids, workMs: yield* remove(ids), turn }
}

interface Found {
  found: FinishedTask[]
  /** Where the next step continues. 0: every lane was read. */
  afterLane: number
}

/** `limit` tasks at most: what a queue has too many of, and what is too old in the next lanes after `position`. */
function* prunable(
  db: Dialect,
  { select }: Pruning,
  { retention, limit, position }: { retention: Retention; limit: number; position: number },
): Script<Found> {
  const found = new Map<number, FinishedTask>()
  const add = function* (oldest: Omit<OldestFinished, 'limit'>, most = limit): Script<void> {
    const room = Math.min(most, limit - found.size)
    if (room <= 0 || oldest.lanes.length === 0) return
    for (const task of yield* rows<FinishedTask>(select({ ...oldest, limit: room }))) found.set(task.id, task)
  }
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.count === null) continue
    for (const { queue, surplus } of yield* surplusOf(db, status, keep.count)) {
      const lanes = yield* lanesOf(db, queue, status)
      yield* add({ lanes, status, until: Number.MAX_SAFE_INTEGER, inOrder: true }, surplus)
    }
  }
  const lanes = yield* lanesAfter(position)
  const now = yield* db.time()
  for (const { status, keep } of limitsOf(retention)) {
    if (keep.ageMs !== null) yield* add({ lanes, status, until: now - keep.ageMs, inOrder: false })
  }
  // These lanes may have more than one step takes.
  if (found.size >= limit) return { found: [...found.values()], afterLane: position }
  const afterLane = lanes.length < LANES_PER_STEP ? 0 : lanes.at(-1)!
  return { found: [...found.values()], afterLane }
}

function* lanesAfter(position: number): Script<number[]> {
  const found = yield* rows<{ id: number }>(
    sql`SELECT id FROM gleaner.lanes WHERE id > ${position} ORDER BY id LIMIT ${LANES_PER_STEP}`,
  )
  return found.map(({ id }) => id)
}

/** The counters say how many there are. */
function surplusOf(
  db: Dialect,
  status: FinishedStatus,
  count: number,
): Script<{ queue: string; surplus: number }[]> {
  const present = verbatim(`pg_catalog.sum(c.${status})`)
  return rows(sql`
    SELECT c.queue, ${present} - ${count} AS surplus FROM ${laneCounters(db)} AS c
    GROUP BY c.queue HAVING ${present} > ${count}`)
}

function* lanesOf(db: Dialect, queue: string, status: FinishedStatus): Script<number[]> {
  const found = yield* rows<{ id: number }>(sql`
    SELECT c.id FROM ${laneCounters(db)} AS c WHERE c.queue = ${queue} AND ${verbatim(`c.${status}`)} > 0
    ORDER BY c.id LIMIT ${LANES_PER_STEP}`)
  return found.map(({ id }) => id)
}

/**
 * Those that are still what they were. In the background, tasks that another transaction has locked are left for the next time.
 * Otherwise it waits for them in the order of the ids, so that two of these never wait for each other.
 */
function* lockAsFound(db: Dialect, found: readonly FinishedTask[], inBackground: boolean): Script<number[]> {
  const seen = db.given('seen', [
    { name: 'id', type: 'bigint', values: found.map(({ id }) => id) },
    { name: 'finished_at', type: 'bigint', values: found.map(({ finished_at }) => finished_at) },
  ])
  // With coalesce SQLite finds them by their id: otherwise it may read the whole index of finished tasks for each.
  const locked = yield* rows<{ id: number }>(sql`
    SELECT t.id FROM ${seen} CROSS JOIN gleaner.tasks AS t WHERE seen.id = t.id AND seen.finished_at = coalesce(t.finished_at, 0)
    ORDER BY t.id ${db.forUpdateOf('t')} ${inBackground ? db.skipLocked : sql``}`)
  return locked.map(({ id }) => id)
}

/**
 * One process at a time is enough. A turn ends by itself, and a turn that ends later than any can was taken by a clock that was
 * wrong. Null: another process has it.
 */
function* takeTurn(db: Dialect, { held, forMs }: NonNullable<PruneStep['turn']>): Script<number | null> {
  const now = yield* db.time()
  const until = now + forMs
  const changed = yield* change(sql`
    INSERT INTO ${db.schema.settings} AS s (key, value) VALUES ('prune_turn', ${until}) ON CONFLICT (key) DO UPDATE
    SET value = excluded.value WHERE s.value <= ${now} OR s.value > ${until} OR s.value = ${held}`)
  return changed === 1 ? until : null
}
