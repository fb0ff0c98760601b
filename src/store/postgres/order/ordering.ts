import { isSameOrdering, type QueueSettings } from '../../../model/queue.ts'
import { ERAS, generationBounds, isRankedAlike, VIRTUAL_TIME_LENGTH } from '../../../model/rank.ts'
import type { Queue } from '../../queue-row.ts'
import type { Sql } from '../server/sql.ts'
import type { LaneCache } from '../tasks/lanes.ts'
import type { Memory } from '../tasks/memory.ts'
import type { QueueCache } from '../tasks/queue-cache.ts'
import { readVirtualTimes } from '../tasks/virtual-times.ts'
import { HELD, READY, SUSPECT } from '../waiting/conditions.ts'

/** Tasks that one step puts in their place; claims pass over them meanwhile. */
const STEP_MAX = 500

/** What has a rank: what waits, by the index that holds it, and what is held and may be given back. */
const RANKED = [READY, SUSPECT, HELD, `NOT leads AND status = 'queued'`]
/** Before the next try to change settings, when nothing can be done about what is in the way. */
export const ERA_AGAIN_MS = 20
/** For so long after a change somebody may commit what he drew before he heard of it. */
const WATCHED_MS = 10 * 60_000

export async function hasNewOrdering(
  sql: Sql,
  book: QueueCache,
  settings: readonly QueueSettings[],
): Promise<boolean> {
  await book.refresh(sql)
  return settings.some(
    ({ name, ordering }) => ordering !== undefined && !isSameOrdering(ordering, book.of(name)),
  )
}

/** In a transaction. False: too many eras have not come to an end; `rerank` first. Nothing was written. */
export async function configureQueues(
  sql: Sql,
  { lanes, queues: book }: Memory,
  settings: readonly QueueSettings[],
): Promise<boolean> {
  await lockSettings(sql)
  await book.refresh(sql)
  const changes: Queue[] = []
  for (const { name, ordering } of settings) {
    const queue = book.of(name)
    if (ordering === undefined || isSameOrdering(ordering, queue)) continue
    const era = isRankedAlike(ordering, queue) ? queue.era : await nextEra(sql, lanes, queue)
    if (era === null) return false
    changes.push({ ...queue, ...ordering, era })
  }
  for (const queue of changes) await write(sql, queue)
  return true
}

/** One who changes settings at a time: the era that he finds free stays so. */
async function lockSettings(sql: Sql): Promise<void> {
  await sql.run(`SELECT 1 FROM gleaner.settings WHERE key = 'queues' FOR UPDATE`)
}

async function write(sql: Sql, { name, strategy, ageingMs, era }: Queue): Promise<void> {
  await sql.run('DELETE FROM gleaner.races WHERE queue = $1 AND era = $2', [name, era])
  await sql.run(
    `INSERT INTO gleaner.queues AS q (name, strategy, ageing_ms, era, unranked)
     VALUES ($1, $2, $3, $4, CASE WHEN $4 <> 0 THEN gleaner.now_ms() END)
     ON CONFLICT (name) DO UPDATE
     SET strategy = excluded.strategy, ageing_ms = excluded.ageing_ms, era = excluded.era,
       unranked = CASE WHEN q.era = excluded.era THEN q.unranked ELSE gleaner.now_ms() END`,
    [name, strategy, ageingMs, era],
  )
  await noteChange(sql)
}

async function noteChange(sql: Sql): Promise<void> {
  await sql.run(`UPDATE gleaner.settings SET value = value + 1 WHERE key = 'queues'`)
}

/** Which nobody is left of. */
async function nextEra(sql: Sql, lanes: LaneCache, queue: Queue): Promise<number | null> {
  const among = (await lanes.matching({ queue: queue.name }, sql)).map((lane) => lane.id)
  for (let further = 1; further < ERAS; further++) {
    const era = (queue.era + further) % ERAS
    if (!(await hasAnyOf(sql, among, era))) return era
  }
  return null
}

async function hasAnyOf(sql: Sql, lanes: readonly number[], era: number): Promise<boolean> {
  const { start, end } = generationBounds(era)
  const found = RANKED.map(
    (which) => `EXISTS (SELECT 1 FROM pg_catalog.unnest($1::int[]) l(lane), LATERAL (
       SELECT 1 FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${which} AND rank >= $2 AND rank < $3 LIMIT 1) t)`,
  )
  const row = await sql.row<{ any: boolean }>(`SELECT ${found.join(' OR ')} AS any`, [lanes, start, end])
  return row!.any
}

/** One step, in a transaction. True: there may be more. */
export async function rerank(sql: Sql, memory: Memory): Promise<boolean> {
  const { lanes, queues: book } = memory
  for (const queue of await overlong(sql, book)) if (await beginRaceAnew(sql, lanes, queue)) return true
  const tasks = await misplaced(sql, memory, STEP_MAX)
  if (tasks.length === 0) await forgetWatched(sql)
  if (tasks.length === 0) return false
  const laneOf = new Map((await lanes.matching({}, sql)).map((lane) => [lane.id, lane]))
  const ranks = await book.drawAll(
    sql,
    tasks.map(({ lane, priority, queued_at }) => ({
      queue: laneOf.get(lane)!.queue,
      priority,
      queuedAtMs: queued_at,
    })),
  )
  await sql.run(
    `UPDATE gleaner.tasks SET rank = given.rank FROM unnest($1::bigint[], $2::bigint[]) given(id, rank)
     WHERE tasks.id = given.id`,
    [tasks.map(({ id }) => id), ranks],
  )
  return tasks.length === STEP_MAX
}

/** Without a lock: whether a step may have anything to do. */
export async function needsRerank(sql: Sql, memory: Memory): Promise<boolean> {
  const { queues: book } = memory
  await book.refresh(sql)
  return (await unranked(sql)).length > 0 || (await overlong(sql, book)).length > 0
}

/** These settings had changed when somebody drew by them. */
export async function watchAgain(sql: Sql): Promise<void> {
  await sql.run('UPDATE gleaner.queues SET unranked = gleaner.now_ms()')
}

async function unranked(sql: Sql): Promise<string[]> {
  const rows = await sql.rows<{ name: string }>('SELECT name FROM gleaner.queues WHERE unranked IS NOT NULL')
  return rows.map(({ name }) => name)
}

/** Not at once: somebody who drew by the former order may not have committed yet. */
async function forgetWatched(sql: Sql): Promise<void> {
  await sql.run(`UPDATE gleaner.queues SET unranked = NULL WHERE unranked < gleaner.now_ms() - ${WATCHED_MS}`)
}

interface Misplaced {
  id: number
  lane: number
  priority: number
  queued_at: number
}

/** Has a rank of another era: looked for on both sides of the queue's own. */
async function misplaced(sql: Sql, { lanes, queues: book }: Memory, limit: number): Promise<Misplaced[]> {
  const watched = new Set(await unranked(sql))
  const among = (await lanes.matching({}, sql)).filter((lane) => watched.has(lane.queue))
  const bounds = among.map((lane) => generationBounds(book.of(lane.queue).era))
  const sides = RANKED.flatMap((which) =>
    ['rank < l.low', 'rank >= l.high'].map(
      (side) => `(SELECT t.* FROM unnest($1::int[], $2::bigint[], $3::bigint[]) l(lane, low, high), LATERAL (
         SELECT id, lane, priority, greatest(created_at, run_after) AS queued_at FROM gleaner.tasks
         WHERE tasks.lane = l.lane AND ${which} AND ${side} ORDER BY rank, id LIMIT $4 FOR UPDATE SKIP LOCKED) t LIMIT $4)`,
    ),
  )
  return sql.rows<Misplaced>(`SELECT * FROM (${sides.join(' UNION ALL ')}) t LIMIT $4`, [
    among.map((lane) => lane.id),
    bounds.map(({ start }) => start),
    bounds.map(({ end }) => end),
    limit,
  ])
}

async function overlong(sql: Sql, book: QueueCache): Promise<Queue[]> {
  const weighted = book.all().filter(({ strategy }) => strategy === 'weighted')
  const races = await readVirtualTimes(
    sql,
    weighted.map(({ name }) => name),
  )
  return weighted.filter(({ name }) => (races.get(name) ?? 0) >= VIRTUAL_TIME_LENGTH)
}

/** Its ranks would leave their era some day. False: somebody else has done so, or something of each other era is left. */
async function beginRaceAnew(sql: Sql, lanes: LaneCache, queue: Queue): Promise<boolean> {
  await lockSettings(sql)
  const row = await sql.row<{ era: number }>('SELECT era FROM gleaner.queues WHERE name = $1', [queue.name])
  if (row?.era !== queue.era) return false
  const era = await nextEra(sql, lanes, queue)
  if (era !== null) await write(sql, { ...queue, era })
  return era !== null
}
