import { isSameOrdering, type QueueSettings } from '../../../model/queue.ts'
import { ERAS, generationBounds, isRankedAlike, VIRTUAL_TIME_LENGTH } from '../../../model/rank.ts'
import type { Lane } from '../../lane.ts'
import type { Queue } from '../../queue-row.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../tasks/memory.ts'

/** Tasks that one step ranks anew. It takes some milliseconds, in which no other process can write. */
const STEP_MAX = 500

/** What has a rank: what waits, by the index that holds it, and what is held and may be given back. */
const RANKED = [
  `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 0`,
  `gleaner_tasks WHERE status = 'queued' AND fence IS NULL AND suspect = 1`,
  'gleaner_held WHERE fence IS NOT NULL',
  // Behind others of their order key: they keep the rank with which they will wait.
  `gleaner_tasks WHERE leads = 0 AND status = 'queued'`,
]

/** Without a lock: whether there is anything to write down. */
export function hasNewOrdering(memory: Memory, settings: readonly QueueSettings[]): boolean {
  memory.queues.knowing()
  return settings.some(
    ({ name, ordering }) => ordering !== undefined && !isSameOrdering(ordering, memory.queues.of(name)),
  )
}

/** Inside a write transaction. False: too many eras have not come to an end; `rerank` first. Nothing was written. */
export function configureQueues(db: Statements, memory: Memory, settings: readonly QueueSettings[]): boolean {
  memory.queues.knowing()
  const changes: Queue[] = []
  for (const { name, ordering } of settings) {
    const queue = memory.queues.of(name)
    if (ordering === undefined || isSameOrdering(ordering, queue)) continue
    const era = isRankedAlike(ordering, queue) ? queue.era : nextEra(db, memory, queue)
    if (era === null) return false
    changes.push({ ...queue, ...ordering, era })
  }
  for (const queue of changes) write(db, queue)
  return true
}

function write(db: Statements, { name, strategy, ageingMs, era }: Queue): void {
  db.sql(`INSERT INTO gleaner_queues (name, strategy, ageing_ms, era, unranked) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (name) DO UPDATE SET strategy = excluded.strategy, ageing_ms = excluded.ageing_ms,
            era = excluded.era, race = iif(era = excluded.era, race, 0),
            unranked = iif(era = excluded.era, unranked, 1)`).run(
    name,
    strategy,
    ageingMs,
    era,
    era === 0 ? 0 : 1,
  )
  noteChange(db)
}

function noteChange(db: Statements): void {
  db.sql(`UPDATE gleaner_meta SET value = value + 1 WHERE key = 'queues'`).run()
}

/** A generation of which no task is left. */
function nextEra(db: Statements, { lanes }: Memory, queue: Queue): number | null {
  const among = lanes.matching({ queue: queue.name })
  for (let further = 1; further < ERAS; further++) {
    const era = (queue.era + further) % ERAS
    if (!among.some((lane) => hasAnyOf(db, lane, era))) return era
  }
  return null
}

function hasAnyOf(db: Statements, lane: Lane, era: number): boolean {
  const { start, end } = generationBounds(era)
  return RANKED.some(
    (source) =>
      db
        .sql(`SELECT 1 FROM ${source} AND lane = ? AND rank >= ? AND rank < ? LIMIT 1`)
        .get(lane.id, start, end) !== undefined,
  )
}

interface Misplaced {
  id: number
  priority: number
  queued_at: number
}

/** Without a lock: whether a step has anything to do. */
export function needsRerank(db: Statements, memory: Memory): boolean {
  memory.queues.knowing()
  return unranked(db, memory).length > 0 || memory.queues.all().some((queue) => isOverlong(db, queue))
}

/** Inside a write transaction: one step. True: there may be more. */
export function rerank(db: Statements, memory: Memory): boolean {
  memory.queues.knowing()
  for (const queue of memory.queues.all()) {
    if (isOverlong(db, queue) && beginRaceAnew(db, memory, queue)) return true
  }
  let left = STEP_MAX
  for (const queue of unranked(db, memory)) {
    for (const lane of memory.lanes.matching({ queue: queue.name })) {
      left -= drawAnew(db, memory, queue, misplaced(db, queue, lane, left))
      if (left === 0) return true
    }
    // Every rank that is drawn from now on follows the present order, so no more tasks need a new rank.
    db.sql('UPDATE gleaner_queues SET unranked = 0 WHERE name = ?').run(queue.name)
  }
  return false
}

function drawAnew(db: Statements, { queues }: Memory, queue: Queue, tasks: readonly Misplaced[]): number {
  for (const { id, priority, queued_at } of tasks) {
    const rank = queues.draw(queue.name, priority, queued_at)
    db.sql('UPDATE gleaner_tasks SET rank = ? WHERE id = ?').run(rank, id)
  }
  return tasks.length
}

function unranked(db: Statements, { queues }: Memory): Queue[] {
  const names = db.scalar('SELECT name FROM gleaner_queues WHERE unranked = 1').all() as string[]
  return names.map((name) => queues.of(name))
}

/** Has a rank of another era: looked for on both sides of the queue's own. */
function misplaced(db: Statements, queue: Queue, lane: Lane, limit: number): Misplaced[] {
  const { start, end } = generationBounds(queue.era)
  const found: Misplaced[] = []
  for (const source of RANKED) {
    for (const [side, bound] of [
      ['rank < ?', start],
      ['rank >= ?', end],
    ] as const) {
      const rows = db
        .sql(`SELECT id, priority, max(created_at, coalesce(run_after, 0)) AS queued_at FROM ${source}
                AND lane = ? AND ${side} ORDER BY rank, id LIMIT ?`)
        .all(lane.id, bound, limit - found.length)
      found.push(...(rows as Misplaced[]))
    }
  }
  return found
}

function isOverlong(db: Statements, { name, strategy }: Queue): boolean {
  if (strategy !== 'weighted') return false
  return (
    (db.scalar('SELECT race FROM gleaner_queues WHERE name = ?').get(name) as number) >= VIRTUAL_TIME_LENGTH
  )
}

/** Its ranks would leave their era some day. False: something of each other era is left. */
function beginRaceAnew(db: Statements, memory: Memory, queue: Queue): boolean {
  const era = nextEra(db, memory, queue)
  if (era !== null) write(db, { ...queue, era })
  return era !== null
}
