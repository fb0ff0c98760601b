import { isNews, type Level } from '../../model/level.ts'
import { MINUTE_MS, minuteOf, ROWS } from '../../model/metrics.ts'
import { TASKS } from '../level-row.ts'
import { MINUTES_KEPT_MS, PRUNED_MAX } from '../metrics-row.ts'
import type { Levels } from '../ports/levels.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { type Fragment, sql, verbatim } from '../sql/sql.ts'

/** How many tasks are unfinished, and how many rows of a discovery are not done, over time. */
export function levels({ db, read, writeCheaply }: Scripts): Levels {
  return {
    async noteRowsLeft(discovery, left) {
      const news = await read(() => newsOf(db, discovery, left))
      if (news === null) return
      const { at, done } = news
      await writeCheaply(function* () {
        yield* noteLevel(discovery, { at: sql`${at}`, left: sql`${left}`, done: sql`${done}` })
        yield* removeOld(db, discovery, sql`${at}`)
      })
    },
    readLevels: (discovery, windowMs) => read(() => readLevels(db, discovery ?? TASKS, windowMs)),
  }
}

function* newsOf(db: Dialect, discovery: string, left: number): Script<Level | null> {
  const seen = { at: yield* db.time(), left, done: yield* doneEver(db, discovery) }
  return isNews(seen, yield* lastBefore(discovery, seen.at)) ? seen : null
}

/** In a transaction: two statements of which none needs the answer of the other. */
export function noteUnfinished(db: Dialect): Script<unknown>[] {
  const left = sql`(SELECT coalesce(pg_catalog.sum(created - completed - failed - cancelled), 0) FROM (${db.schema.counterParts}) AS c)`
  return [noteLevel(TASKS, { at: db.now, left, done: sql`0` }), removeOld(db, TASKS, db.now)]
}

/** The last of each minute stays. */
function noteLevel(name: string, { at, left, done }: Record<keyof Level, Fragment>): Script<number> {
  return change(sql`
    INSERT INTO gleaner.levels (name, minute, at, "left", done)
    SELECT name, at - at % ${verbatim(String(MINUTE_MS))}, at, "left", done FROM (
      SELECT CAST(${name} AS text) AS name, CAST(${at} AS bigint) AS at, CAST(${left} AS bigint) AS "left",
        CAST(${done} AS bigint) AS done) AS level
    WHERE true
    ON CONFLICT (name, minute) DO UPDATE SET at = excluded.at, "left" = excluded."left", done = excluded.done`)
}

/** Of what is too old, the last one stays: it says how many there were when the first minute that is kept begins. */
function removeOld(db: Dialect, name: string, at: Fragment): Script<number> {
  return change(sql`
    DELETE FROM gleaner.levels WHERE name = ${name} AND minute IN (
      SELECT minute FROM gleaner.levels WHERE name = ${name} AND minute < (
        SELECT pg_catalog.max(minute) FROM gleaner.levels WHERE name = ${name} AND minute <= CAST(${at} AS bigint) - ${MINUTES_KEPT_MS})
      ORDER BY minute LIMIT ${PRUNED_MAX} ${db.forUpdate} ${db.skipLocked})`)
}

function* doneEver({ schema }: Dialect, discovery: string): Script<number> {
  const row = yield* one<{ completed: number }>(sql`
    SELECT coalesce(pg_catalog.sum(completed), 0) AS completed FROM (${schema.measuredEver}) AS ever
    WHERE queue = ${ROWS} AND name = ${discovery}`)
  return row!.completed
}

function lastBefore(name: string, at: number): Script<Level | undefined> {
  return one<Level>(sql`
    SELECT at, "left", done FROM gleaner.levels WHERE name = ${name} AND minute <= ${minuteOf(at)}
    ORDER BY minute DESC LIMIT 1`)
}

function* readLevels(db: Dialect, name: string, windowMs: number): Script<Level[]> {
  const since = (yield* db.time()) - windowMs
  const before = yield* lastBefore(name, since)
  const within = yield* rows<Level>(sql`
    SELECT at, "left", done FROM gleaner.levels WHERE name = ${name} AND minute > ${minuteOf(since)} ORDER BY minute`)
  return before === undefined ? within : [before, ...within]
}
