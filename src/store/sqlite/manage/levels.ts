import { isNews, type Level } from '../../../model/level.ts'
import { minuteOf, ROWS } from '../../../model/metrics.ts'
import { type Levels, TASKS } from '../../level-row.ts'
import { ALL_TIME, MINUTES_KEPT_MS, PRUNED_MAX } from '../../metrics-row.ts'
import type { Durability } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'

export interface LevelServices {
  db: Statements
  now: () => number
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T) => Promise<T>
}

export function levels({ db, now, read, write }: LevelServices): Levels {
  return {
    async noteRowsLeft(discovery, left) {
      const seen = () => ({ at: now(), left, done: doneEver(db, discovery) })
      if (!(await read(() => isNews(seen(), lastBefore(db, discovery, now()))))) return
      await write('normal', () => note(db, discovery, seen()))
    },
    readLevels: (discovery, windowMs) => read(() => readLevels(db, discovery ?? TASKS, now() - windowMs)),
  }
}

/** Inside a write transaction. By the counters, and what they leave out. */
export function noteUnfinished(db: Statements, now: number): void {
  const left = db
    .scalar(`SELECT (SELECT coalesce(sum(created - completed - failed - cancelled), 0) FROM gleaner_lanes)
               + (SELECT count(*) FROM gleaner_tasks
                  WHERE id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through'))`)
    .get() as number
  note(db, TASKS, { at: now, left, done: 0 })
}

/** The last of each minute stays; of what is too old, the last one, which tells how it was when what is kept begins. */
function note(db: Statements, name: string, { at, left, done }: Level): void {
  db.sql('INSERT OR REPLACE INTO gleaner_levels (name, minute, at, left, done) VALUES (?, ?, ?, ?, ?)').run(
    name,
    minuteOf(at),
    at,
    left,
    done,
  )
  const begin = lastBefore(db, name, at - MINUTES_KEPT_MS)
  if (begin === undefined) return
  db.sql(`DELETE FROM gleaner_levels WHERE (name, minute) IN (
            SELECT name, minute FROM gleaner_levels WHERE name = ? AND minute < ? ORDER BY minute LIMIT ${PRUNED_MAX})`).run(
    name,
    minuteOf(begin.at),
  )
}

function doneEver(db: Statements, discovery: string): number {
  const done = db.scalar('SELECT completed FROM gleaner_minutes WHERE minute = ? AND queue = ? AND name = ?')
  return (done.get(ALL_TIME, ROWS, discovery) as number | undefined) ?? 0
}

function lastBefore(db: Statements, name: string, at: number): Level | undefined {
  return db
    .sql(
      'SELECT at, left, done FROM gleaner_levels WHERE name = ? AND minute <= ? ORDER BY minute DESC LIMIT 1',
    )
    .get(name, minuteOf(at)) as Level | undefined
}

function readLevels(db: Statements, name: string, since: number): Level[] {
  const before = lastBefore(db, name, since)
  const within = db
    .sql('SELECT at, left, done FROM gleaner_levels WHERE name = ? AND minute > ? ORDER BY minute')
    .all(name, minuteOf(since)) as Level[]
  return before === undefined ? within : [before, ...within]
}
