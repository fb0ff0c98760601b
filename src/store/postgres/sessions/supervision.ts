import type { ProcessIdentity } from '../../../process-identity.ts'
import type { Command, Supervision, SupervisorReport, SupervisorRow } from '../../supervision.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'

export interface SupervisionServices {
  sql: Sql
  clockMs: () => number | null
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
}

/** The verbs for supervisors. */
export function supervision({ sql, clockMs, read, write }: SupervisionServices): Supervision {
  return {
    supervisors: () => read(() => supervisorRows(sql, clockMs())),
    takeOffice: (name, process, replaces) => read(() => takeOffice(sql, name, process, replaces, clockMs())),
    report: (report) => write((own) => writeReport(own, report, clockMs()), { durable: false }),
    command: ({ action, worker, supervisor }) =>
      write((own) =>
        own.run(
          `INSERT INTO gleaner.commands (supervisor, action, worker, created_at)
           SELECT name, $1, $2, coalesce($3::bigint, gleaner.now_ms()) FROM gleaner.supervisors
           WHERE name = coalesce($4::text, name)`,
          [action, worker, clockMs(), supervisor],
        ),
      ),
    commandsFor: (name) =>
      read(() =>
        sql.rows<Command>(
          'SELECT id::text AS id, action, worker FROM gleaner.commands WHERE supervisor = $1 ORDER BY commands.id',
          [name],
        ),
      ),
  }
}

interface Row extends ProcessIdentity {
  name: string
  term: number
  start_time: string | null
  since: number
  unseen: number
  has_left: boolean
  workers: string
}

async function supervisorRows(sql: Sql, clockMs: number | null): Promise<SupervisorRow[]> {
  const rows = await sql.rows<Row>(
    `SELECT *, greatest(0, coalesce($1::bigint, gleaner.now_ms()) - seen_at) AS unseen
     FROM gleaner.supervisors ORDER BY name`,
    [clockMs],
  )
  return rows.map(({ name, term, host, boot, pid, start_time, since, unseen, has_left, workers }) => ({
    name,
    term,
    process: { host, boot, pid, startTime: start_time },
    since,
    unseenMs: unseen,
    left: has_left,
    workers,
  }))
}

async function takeOffice(
  sql: Sql,
  name: string,
  { host, boot, pid, startTime }: ProcessIdentity,
  replaces: number | null,
  clockMs: number | null,
): Promise<number | null> {
  const row = await sql.row<{ term: number }>(
    `INSERT INTO gleaner.supervisors AS s (name, term, host, boot, pid, start_time, since, seen_at)
     SELECT $1, 1, $2, $3, $4, $5, now, now FROM (SELECT coalesce($6::bigint, gleaner.now_ms()) AS now) moment
     ON CONFLICT (name) DO UPDATE
     SET term = s.term + 1, host = excluded.host, boot = excluded.boot, pid = excluded.pid,
         start_time = excluded.start_time, since = excluded.since, seen_at = excluded.seen_at, has_left = false
     WHERE s.term = $7 RETURNING term`,
    [name, host, boot, pid, startTime, clockMs, replaces],
  )
  return row?.term ?? null
}

async function writeReport(sql: Sql, report: SupervisorReport, clockMs: number | null): Promise<boolean> {
  const changes = await sql.run(
    `UPDATE gleaner.supervisors
     SET workers = $1, seen_at = coalesce($2::bigint, gleaner.now_ms()), has_left = $3 WHERE name = $4 AND term = $5`,
    [report.workers, clockMs, report.leaving, report.name, report.term],
  )
  if (changes === 0) return false
  if (report.handled !== null) {
    await sql.run('DELETE FROM gleaner.commands WHERE supervisor = $1 AND id <= $2', [
      report.name,
      report.handled,
    ])
  }
  return true
}
