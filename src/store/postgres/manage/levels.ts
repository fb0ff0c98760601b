import { isNews, type Level } from '../../../model/level.ts'
import { minuteOf, ROWS } from '../../../model/metrics.ts'
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
      await write((own) => note(own, discovery, seen), { durable: false })
    },
    readLevels: (discovery, windowMs) =>
      read(async () => readLevels(sql, discovery ?? TASKS, (await nowOf(sql)) - windowMs)),
  }
}

/** In a transaction. By the counters, and what was not yet added to them. */
export async function noteUnfinished(sql: Sql, now: number): Promise<void> {
  const counted = await sql.row<{ left: number }>(
    `SELECT coalesce(pg_catalog.sum(created - completed - failed - cancelled), 0)::bigint AS left
     FROM (SELECT created, completed, failed, cancelled FROM gleaner.lanes
           UNION ALL SELECT created, completed, failed, cancelled FROM gleaner.tallies) parts`,
  )
  await note(sql, TASKS, { at: now, left: counted!.left, done: 0 })
}

/** The last of each minute stays; of what is too old, the last one, which tells how it was when what is kept begins. */
async function note(sql: Sql, name: string, { at, left, done }: Level): Promise<void> {
  await sql.run(
    `INSERT INTO gleaner.levels (name, minute, at, "left", done) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name, minute) DO UPDATE SET at = excluded.at, "left" = excluded."left", done = excluded.done`,
    [name, minuteOf(at), at, left, done],
  )
  const begin = await lastBefore(sql, name, at - MINUTES_KEPT_MS)
  if (begin === undefined) return
  await sql.run(
    `DELETE FROM gleaner.levels WHERE name = $1 AND minute IN (
       SELECT minute FROM gleaner.levels WHERE name = $1 AND minute < $2 ORDER BY minute LIMIT ${PRUNED_MAX}
       FOR UPDATE SKIP LOCKED)`,
    [name, minuteOf(begin.at)],
  )
}

async function doneEver(sql: Sql, discovery: string): Promise<number> {
  const row = await sql.row<{ completed: number }>(
    'SELECT completed FROM gleaner.minutes WHERE minute = $1 AND queue = $2 AND name = $3',
    [ALL_TIME, ROWS, discovery],
  )
  return row?.completed ?? 0
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
