import type { FinishedStatus } from '../../../model/task.ts'
import { Slots } from '../limits/counters.ts'
import type { Sql } from '../server/sql.ts'
import { addToOrderOutbox } from './order-outbox.ts'

type Counter = 'created' | 'scheduled' | 'suspended' | FinishedStatus
const COUNTERS: readonly Counter[] = ['created', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled']

/** Rows of tallies that one summing up takes. */
const SUM_MAX = 10_000

/** The changes of the counters in one transaction, added as rows: nobody waits for anybody. */
export class Tally {
  readonly #changes = new Map<number, Record<Counter, number>>()
  readonly #freed: string[] = []
  /** What limits have to know of it: written for those who have some. */
  readonly slots = new Slots()

  add(lane: number, counter: Counter, change: number): void {
    const none = { created: 0, scheduled: 0, suspended: 0, completed: 0, failed: 0, cancelled: 0 }
    const counters = this.#changes.get(lane) ?? none
    counters[counter] += change
    this.#changes.set(lane, counters)
  }

  /** A task is finished that led the tasks of this order key. */
  led(orderKey: string): void {
    this.#freed.push(orderKey)
  }

  /** Another task may lead: the next claim looks. */
  get hasFreedOrders(): boolean {
    return this.#freed.length > 0
  }

  async write(sql: Sql): Promise<void> {
    await addToOrderOutbox(sql, this.#freed)
    if (this.#changes.size === 0) return
    const lanes = [...this.#changes.keys()]
    const columns = COUNTERS.map((counter) => lanes.map((lane) => this.#changes.get(lane)![counter]))
    await sql.run(
      `INSERT INTO gleaner.tallies (lane, ${COUNTERS.join(', ')})
       SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[])`,
      [lanes, ...columns],
    )
  }
}

/** Moves tallies into the lanes' own counters, so that counting stays cheap. `condition`: that this process may. */
export async function sumUp(sql: Sql, condition: string): Promise<void> {
  await sql.run(
    `WITH moved AS (
       DELETE FROM gleaner.tallies WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM gleaner.tallies WHERE ${condition} LIMIT ${SUM_MAX} FOR UPDATE SKIP LOCKED)) RETURNING *
     ), sums AS (
       SELECT lane, ${COUNTERS.map((c) => `pg_catalog.sum(${c}) AS ${c}`).join(', ')} FROM moved GROUP BY lane
     )
     UPDATE gleaner.lanes l SET ${COUNTERS.map((c) => `${c} = l.${c} + s.${c}`).join(', ')} FROM sums s WHERE s.lane = l.id`,
  )
}
