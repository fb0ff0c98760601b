import { isNews, type Level } from '../../../model/level.ts'
import { MINUTE_MS, minuteOf, ROWS } from '../../../model/metrics.ts'
import { type Levels, TASKS } from '../../level-row.ts'
import { ALL_TIME, MINUTES_KEPT_MS, PRUNED_MAX } from '../../metrics-row.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'

export interface LevelServices {
  sql: Sql
  nowOf: (sql: Sql) => Promise<number>
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
}

export function levels({ sql, nowOf, read, write }: LevelServices): Levels {
  return {
    async noteRowsLeft(discovery, left) {
      const seen = await read(async () => ({
        at: await nowOf(sql),
        left,
        done: await doneEver(sql, discovery),
      }))
      if (!isNews(seen, await read(() => lastBefore(sql, discovery, seen.at)))) return
      await write((own) => noteRows(own, discovery, seen), { durable: false })
    },
    readLevels: (discovery, windowMs) =>
      read(async () => readLevels(sql, discovery ?? TASKS, (await nowOf(sql)) - windowMs)),
  }
}

async function noteRows(sql: Sql, discovery: string, { at, left, done }: Level): Promise<void> {
  await note(sql, '$1::text, $2::bigint, $3::bigint, $4::bigint', [discovery, at, left, done])
  await removeOld(sql, discovery, at)
}

/** In a transaction. By the counters, and what was not yet added to them. */
export async function noteUnfinished(sql: Sql, clockMs: number | null): Promise<void> {
  const left = `SELECT coalesce(pg_catalog.sum(created - completed - failed - cancelled), 0)::bigint
    FROM (SELECT created, completed, failed, cancelled FROM gleaner.lanes
          UNION ALL SELECT created, completed, failed, cancelled FROM gleaner.tallies) parts`
  const now = 'coalesce($1::bigint, gleaner.now_ms())'
  // Both at once, because they are sent in one piece.
  await Promise.all([
    note(sql, `'${TASKS}', ${now}, (${left}), 0`, [clockMs]),
    removeOld(sql, TASKS, clockMs),
  ])
}

/** The last of each minute stays. @param values a name, a time, how many are left and how many are done */
async function note(sql: Sql, values: string, parameters: readonly unknown[]): Promise<void> {
  await sql.run(
    `INSERT INTO gleaner.levels (name, minute, at, "left", done)
     SELECT name, at - at % ${MINUTE_MS}, at, "left", done FROM (SELECT ${values}) level(name, at, "left", done)
     ON CONFLICT (name, minute) DO UPDATE SET at = excluded.at, "left" = excluded."left", done = excluded.done`,
    parameters,
  )
}

/** Of what is too old, the last one stays: it says how many there were when the first minute that is kept begins. */
async function removeOld(sql: Sql, name: string, clockMs: number | null): Promise<void> {
  await sql.run(
    `DELETE FROM gleaner.levels WHERE name = $1 AND minute IN (
       SELECT minute FROM gleaner.levels WHERE name = $1 AND minute < (
         SELECT pg_catalog.max(minute) FROM gleaner.levels
         WHERE name = $1 AND minute <= coalesce($2::bigint, gleaner.now_ms()) - ${MINUTES_KEPT_MS})
       ORDER BY minute LIMIT ${PRUNED_MAX} FOR UPDATE SKIP LOCKED)`,
    [name, clockMs],
  )
}

async function doneEver(sql: Sql, discovery: string): Promise<number> {
  const row = await sql.row<{ completed: number }>(
    `SELECT coalesce(pg_catalog.sum(completed), 0)::bigint AS completed
     FROM (SELECT queue, name, completed FROM gleaner.minutes WHERE minute = $1
           UNION ALL SELECT queue, name, completed FROM gleaner.minute_news) parts WHERE queue = $2 AND name = $3`,
    [ALL_TIME, ROWS, discovery],
  )
  return row!.completed
}

function lastBefore(sql: Sql, name: string, at: number): Promise<Level | undefined> {
  return sql.row<Level>(
    `SELECT at, "left", done FROM gleaner.levels WHERE name = $1 AND minute <= $2 ORDER BY minute DESC LIMIT 1`,
    [name, minuteOf(at)],
  )
}

async function readLevels(sql: Sql, name: string, since: number): Promise<Level[]> {
  const before = await lastBefore(sql, name, since)
  const within = await sql.rows<Level>(
    'SELECT at, "left", done FROM gleaner.levels WHERE name = $1 AND minute > $2 ORDER BY minute',
    [name, minuteOf(since)],
  )
  return before === undefined ? within : [before, ...within]
}
