import { MINUTE_MS } from '../../../model/metrics.ts'
import { ALL_TIME, MINUTES_KEPT_MS, PRUNED_MAX } from '../../metrics-row.ts'
import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import { sumUp } from '../tasks/tally.ts'

/** Rows that one turn takes. */
const FOLDED_MAX = 10_000

/** How often a process that worked folds. */
const EVERY_MS = 2_000
/** If it did less than that, what it appended is no trouble to anybody, and waits for five times as long. */
const MUCH = 20
const SELDOM = 5
/** Every so many times it folds although it did nothing: a process that ended may have left some. */
const ANYWAY = 15

/** Set for the transaction of the process whose turn it is. */
const TURN = 'gleaner_fold.turn'
const IS_OURS = `pg_catalog.current_setting('${TURN}', true) = 'true'`

const COUNTERS = ['enqueued', 'completed', 'failed', 'retried']

/**
 * In a transaction that is sent in one piece: adds what all processes appended to the counters of lanes and minutes. One process at a time;
 * for the others these statements do nothing.
 */
export async function foldOutbox(sql: Sql, clockMs: number | null): Promise<void> {
  await Promise.all([
    takeTurn(sql),
    // A statement of its own each: it sees what the process before committed.
    sumUp(sql, IS_OURS),
    foldMinutes(sql),
    removeOldMinutes(sql, clockMs),
  ])
}

async function takeTurn(sql: Sql): Promise<void> {
  await sql.run(
    `SELECT pg_catalog.set_config('${TURN}', pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended($1, 1))::text, true)`,
    [`gleaner tallies ${sql.schema}`],
  )
}

async function foldMinutes(sql: Sql): Promise<void> {
  const sums = COUNTERS.map((counter) => `pg_catalog.sum(${counter})::bigint AS ${counter}`)
  await sql.run(
    `WITH moved AS (
       DELETE FROM gleaner.minute_news WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM gleaner.minute_news WHERE ${IS_OURS} LIMIT ${FOLDED_MAX} FOR UPDATE SKIP LOCKED)) RETURNING *
     ), news AS (
       SELECT minute, queue, name, ${COUNTERS.join(', ')}, durations, incidents FROM moved
       UNION ALL SELECT ${ALL_TIME}, queue, name, ${COUNTERS.join(', ')}, durations, incidents FROM moved
     ), sums AS (
       SELECT minute, queue, name, ${sums.join(', ')} FROM news GROUP BY minute, queue, name
     ), parts AS (
       SELECT minute, queue, name, durations, incidents FROM news
       UNION ALL SELECT minute, queue, name, durations, incidents FROM gleaner.minutes
       WHERE (minute, queue, name) IN (SELECT minute, queue, name FROM sums)
     ), ${countsOf('durations', 'integer')}, ${countsOf('incidents', 'text')}
     INSERT INTO gleaner.minutes AS m (minute, queue, name, ${COUNTERS.join(', ')}, durations, incidents)
     SELECT minute, queue, name, ${COUNTERS.join(', ')}, coalesce(durations, '[]'), coalesce(incidents, '[]')
     FROM sums LEFT JOIN durations USING (minute, queue, name) LEFT JOIN incidents USING (minute, queue, name)
     ON CONFLICT (minute, queue, name) DO UPDATE SET
       ${COUNTERS.map((counter) => `${counter} = m.${counter} + excluded.${counter}`).join(', ')},
       durations = excluded.durations, incidents = excluded.incidents`,
  )
}

/** Adds up lists of [key, count]. */
function countsOf(column: string, type: string): string {
  return `${column} AS (
    SELECT minute, queue, name, pg_catalog.json_agg(pg_catalog.json_build_array(key, n) ORDER BY key)::text AS ${column}
    FROM (SELECT minute, queue, name, (one->>0)::${type} AS key, pg_catalog.sum((one->>1)::bigint) AS n
          FROM parts, pg_catalog.json_array_elements(parts.${column}::json) one
          GROUP BY minute, queue, name, key) counts
    GROUP BY minute, queue, name)`
}

async function removeOldMinutes(sql: Sql, clockMs: number | null): Promise<void> {
  await sql.run(
    `DELETE FROM gleaner.minutes WHERE (minute, queue, name) IN (
       SELECT minute, queue, name FROM gleaner.minutes
       WHERE ${IS_OURS} AND minute > ${ALL_TIME} AND minute <= coalesce($1::bigint, gleaner.now_ms()) - ${MINUTES_KEPT_MS + MINUTE_MS}
       ORDER BY minute LIMIT ${PRUNED_MAX} FOR UPDATE SKIP LOCKED)`,
    [clockMs],
  )
}

/** Folds now and then while this process works. At rest it asks the server for next to nothing. */
export class Folding {
  readonly #timer: NodeJS.Timeout
  #worked = 1
  #ticks = 0

  constructor(database: Database, clockMs: () => number | null) {
    this.#timer = setInterval(() => {
      this.#ticks += 1
      const isDue = this.#worked >= MUCH || (this.#worked > 0 && this.#ticks % SELDOM === 0)
      if (!isDue && this.#ticks % ANYWAY !== 0) return
      this.#worked = 0
      database.together((sql) => foldOutbox(sql, clockMs()), { durable: false }).catch(() => {})
    }, EVERY_MS).unref()
  }

  /** There may be something to fold. */
  worked(): void {
    this.#worked += 1
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
