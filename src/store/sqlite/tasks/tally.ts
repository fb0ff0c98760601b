import type { FinishedStatus } from '../../../model/task.ts'
import { letLead } from '../../scripts/order-keys.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'
import { release } from '../limits/counters.ts'
import { arrive } from '../limits/ready-keys.ts'

/** No time is asked for. */
const DIALECT = sqliteDialect(() => Number.NaN)

type Counter = 'created' | 'scheduled' | 'suspended' | FinishedStatus

/** Tasks enqueued since the last count: bounded, because every reading of the counts adds them up. */
const UNCOUNTED_MAX = 1_000

interface LaneChange {
  counters: Record<Counter, number>
  /** Some of its counters change. */
  counted: boolean
  settled: number
  arrived: boolean
}

/** The changes of the counters of lanes, batches and limits in one transaction, written once at its end. */
export class Tally {
  readonly #lanes = new Map<number, LaneChange>()
  readonly #settled = new Map<number, number>()
  readonly #led: number[] = []
  readonly #freed: string[] = []

  add(lane: number, counter: Counter, change: number): void {
    const changes = this.#changesOf(lane)
    changes.counters[counter] += change
    changes.counted = true
  }

  /** So many of those claimed under this fence are held no more: tasks of this lane. */
  settled(fence: number, lane: number, count: number): void {
    this.#settled.set(fence, (this.#settled.get(fence) ?? 0) + count)
    this.#changesOf(lane).settled += count
  }

  /** This one is finished, and led the tasks of its order key. */
  led(id: number, orderKey: string): void {
    this.#led.push(id)
    this.#freed.push(orderKey)
  }

  /** Another task of each of these order keys may lead now. */
  free(orderKeys: readonly string[]): void {
    this.#freed.push(...orderKeys)
  }

  /** Something waits in it that did not before. */
  arrived(lane: number): void {
    this.#changesOf(lane).arrived = true
  }

  #changesOf(lane: number): LaneChange {
    let changes = this.#lanes.get(lane)
    if (changes === undefined) {
      const counters = { created: 0, scheduled: 0, suspended: 0, completed: 0, failed: 0, cancelled: 0 }
      changes = { counters, counted: false, settled: 0, arrived: false }
      this.#lanes.set(lane, changes)
    }
    return changes
  }

  /** Whether a limit was reached that is not any more: somebody else may go on. */
  write(db: Statements): boolean {
    for (const [fence, count] of this.#settled) {
      db.sql('UPDATE gleaner_batches SET unsettled = unsettled - ? WHERE fence = ?').run(count, fence)
      db.sql('DELETE FROM gleaner_batches WHERE fence = ? AND unsettled = 0').run(fence)
    }
    this.#writeCounters(db)
    const othersLead = this.#freed.length > 0 && this.#letOthersLead(db)
    return this.#writeLimits(db) || othersLead
  }

  #letOthersLead(db: Statements): boolean {
    db.sql('UPDATE gleaner_tasks SET leads = NULL WHERE id IN (SELECT value FROM json_each(?))').run(
      JSON.stringify(this.#led),
    )
    const { lanes } = driveOn(db, letLead(DIALECT, this.#freed))
    for (const lane of lanes) this.arrived(lane)
    return lanes.length > 0
  }

  /** Lanes whose counters change alike share a statement: with thousands of names most exchanges finish one task of each. */
  #writeCounters(db: Statements): void {
    const counted = [...this.#lanes].filter(([, { counted }]) => counted)
    const wordsOf = ({ counters }: LaneChange) => Object.values(counters).join()
    for (const alike of Map.groupBy(counted, ([, change]) => wordsOf(change)).values()) {
      const { created, scheduled, suspended, completed, failed, cancelled } = alike[0]![1].counters
      db.sql(`UPDATE gleaner_lanes SET created = created + ?, scheduled = scheduled + ?, suspended = suspended + ?, completed = completed + ?,
                failed = failed + ?, cancelled = cancelled + ? WHERE id IN (SELECT value FROM json_each(?))`).run(
        created,
        scheduled,
        suspended,
        completed,
        failed,
        cancelled,
        JSON.stringify(alike.map(([lane]) => lane)),
      )
    }
  }

  #writeLimits(db: Statements): boolean {
    const changed = [...this.#lanes].filter(([, { settled, arrived }]) => settled > 0 || arrived)
    if (changed.length === 0) return false
    const limited = db
      .sql(`SELECT id, queue_gate, key_gate FROM gleaner_lanes WHERE id IN (SELECT value FROM json_each(?))
              AND (queue_gate IS NOT NULL OR key_gate IS NOT NULL)`)
      .all(JSON.stringify(changed.map(([lane]) => lane))) as LaneGates[]
    if (limited.length === 0) return false
    const leaving = new Map<number, number>()
    for (const { id, queue_gate, key_gate } of limited) {
      const { settled } = this.#lanes.get(id)!
      for (const gate of [queue_gate, key_gate])
        if (settled > 0 && gate !== null) leaving.set(gate, (leaving.get(gate) ?? 0) + settled)
    }
    const freed = release(db, leaving)
    const keyed = limited.filter(({ id, key_gate }) => key_gate !== null && this.#lanes.get(id)!.arrived)
    if (keyed.length > 0)
      arrive(
        db,
        keyed.map(({ id }) => id),
      )
    return freed
  }
}

/** Which limits the held tasks of a lane count for. */
interface LaneGates {
  id: number
  queue_gate: number | null
  key_gate: number | null
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
