import type { FinishedStatus } from '../../model/task.ts'
import type { Statements } from './statements.ts'

type Counter = 'created' | 'scheduled' | FinishedStatus

/** Tasks enqueued since the last count: bounded, because every reading of the counts adds them up. */
const UNCOUNTED_MAX = 1_000

/** The changes of the counters of lanes and batches in one transaction, written once at its end. */
export class Tally {
  readonly #lanes = new Map<number, Record<Counter, number>>()
  readonly #settled = new Map<number, number>()

  add(lane: number, counter: Counter, change: number): void {
    let counters = this.#lanes.get(lane)
    if (counters === undefined) {
      counters = { created: 0, scheduled: 0, completed: 0, failed: 0, cancelled: 0 }
      this.#lanes.set(lane, counters)
    }
    counters[counter] += change
  }

  /** So many of those claimed under this fence are held no more. */
  settled(fence: number, count: number): void {
    this.#settled.set(fence, (this.#settled.get(fence) ?? 0) + count)
  }

  write(db: Statements): void {
    for (const [fence, count] of this.#settled) {
      db.sql('UPDATE gleaner_batches SET unsettled = unsettled - ? WHERE fence = ?').run(count, fence)
      db.sql('DELETE FROM gleaner_batches WHERE fence = ? AND unsettled = 0').run(fence)
    }
    for (const [lane, c] of this.#lanes) {
      db.sql(`UPDATE gleaner_lanes SET created = created + ?, scheduled = scheduled + ?, completed = completed + ?,
                failed = failed + ?, cancelled = cancelled + ? WHERE id = ?`).run(
        c.created,
        c.scheduled,
        c.completed,
        c.failed,
        c.cancelled,
        lane,
      )
    }
  }
}

/**
 * A single enqueue does not write the counters: that page would cost a third of it. New tasks are counted by the
 * id they end at, a thousand at a time: by whoever makes the thousandth, which takes no look at what was counted.
 */
export function countNewTasks(db: Statements, lastIdBefore: number, lastId: number): void {
  if (Math.floor(lastId / UNCOUNTED_MAX) > Math.floor(lastIdBefore / UNCOUNTED_MAX)) countAll(db)
}

export function countAll(db: Statements): void {
  const uncounted = db
    .sql(`SELECT lane, count(*) AS n FROM gleaner_tasks
          WHERE id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through') GROUP BY lane`)
    .all() as { lane: number; n: number }[]
  for (const { lane, n } of uncounted) {
    db.sql('UPDATE gleaner_lanes SET created = created + ? WHERE id = ?').run(n, lane)
  }
  db.sql(`UPDATE gleaner_meta SET value = max(value, coalesce((SELECT max(id) FROM gleaner_tasks), 0))
          WHERE key = 'counted_through'`).run()
}
