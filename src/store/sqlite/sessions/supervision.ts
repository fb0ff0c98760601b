import type { ProcessIdentity } from '../../../process-identity.ts'
import type { Command, Supervision, SupervisorReport, SupervisorRow } from '../../supervision.ts'
import type { Durability } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'

export interface SupervisionServices {
  db: Statements
  now: () => number
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T) => Promise<T>
}

/** The verbs for supervisors. */
export function supervision({ db, now, promised, read, write }: SupervisionServices): Supervision {
  return {
    supervisors: () => read(() => supervisorRows(db, now())),
    takeOffice: (name, process, replaces) =>
      write('normal', () => takeOffice(db, name, process, replaces, now())),
    report: (report) => write('normal', () => writeReport(db, report, now())),
    command: ({ action, worker, supervisor }) =>
      write(promised, () => {
        const { changes } = db
          .sql(`INSERT INTO gleaner_commands (supervisor, action, worker, created_at)
                SELECT name, ?, ?, ? FROM gleaner_supervisors WHERE name = coalesce(?, name)`)
          .run(action, worker, now(), supervisor)
        return changes
      }),
    commandsFor: (name) => read(() => commandsFor(db, name)),
  }
}

function supervisorRows(db: Statements, now: number): SupervisorRow[] {
  const rows = db.sql('SELECT * FROM gleaner_supervisors ORDER BY name').all() as (SupervisorRow & Row)[]
  return rows.map(({ name, term, host, boot, pid, start_time, since, seen_at, has_left, workers }) => ({
    name,
    term,
    process: { host, boot, pid, startTime: start_time },
    since,
    unseenMs: Math.max(0, now - seen_at),
    left: has_left === 1,
    workers,
  }))
}

interface Row extends ProcessIdentity {
  start_time: string | null
  seen_at: number
  has_left: number
}

function takeOffice(
  db: Statements,
  name: string,
  { host, boot, pid, startTime }: ProcessIdentity,
  replaces: number | null,
  now: number,
): number | null {
  const term = db
    .scalar(`INSERT INTO gleaner_supervisors (name, term, host, boot, pid, start_time, since, seen_at)
             VALUES (?, 1, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (name) DO UPDATE
             SET term = term + 1, host = excluded.host, boot = excluded.boot, pid = excluded.pid,
                 start_time = excluded.start_time, since = excluded.since, seen_at = excluded.seen_at, has_left = 0
             WHERE term = ? RETURNING term`)
    .get(name, host, boot, pid, startTime, now, now, replaces) as number | undefined
  return term ?? null
}

function writeReport(db: Statements, report: SupervisorReport, now: number): boolean {
  const { changes } = db
    .sql('UPDATE gleaner_supervisors SET workers = ?, seen_at = ?, has_left = ? WHERE name = ? AND term = ?')
    .run(report.workers, now, report.leaving ? 1 : 0, report.name, report.term)
  if (changes === 0) return false
  if (report.handled !== null) {
    db.sql('DELETE FROM gleaner_commands WHERE supervisor = ? AND id <= ?').run(
      report.name,
      Number(report.handled),
    )
  }
  return true
}

function commandsFor(db: Statements, name: string): Command[] {
  return db
    .sql(
      'SELECT CAST(id AS TEXT) AS id, action, worker FROM gleaner_commands WHERE supervisor = ? ORDER BY gleaner_commands.id',
    )
    .all(name) as Command[]
}
