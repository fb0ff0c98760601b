import type { ProcessIdentity } from '../../process-identity.ts'
import type {
  NewCommand,
  Supervision,
  SupervisorCommand,
  SupervisorReport,
  SupervisorRow,
} from '../ports/supervision.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { sql } from '../sql/sql.ts'

/** The verbs for supervisors. */
export function supervision({ db, read, write, writeCheaply }: Scripts): Supervision {
  return {
    supervisors: () => read(() => supervisors(db)),
    takeLeadership: (name, process, replaces) => write(() => takeLeadership(db, name, process, replaces)),
    report: (report) => writeCheaply(() => writeReport(db, report)),
    command: (command) => write(() => writeCommand(db, command)),
    commandsFor: (name) => read(() => commandsFor(name)),
  }
}

interface Row extends Omit<ProcessIdentity, 'startTime'> {
  name: string
  term: number
  start_time: string | null
  since: number
  seen_at: number
  has_left: number | boolean
  workers: string
}

function* supervisors(db: Dialect): Script<SupervisorRow[]> {
  const now = yield* db.time()
  const found = yield* rows<Row>(sql`SELECT * FROM gleaner.supervisors ORDER BY name`)
  return found.map(({ name, term, host, boot, pid, start_time, since, seen_at, has_left, workers }) => ({
    name,
    term,
    process: { host, boot, pid, startTime: start_time },
    since,
    unseenMs: Math.max(0, now - seen_at),
    left: Boolean(has_left),
    workers,
  }))
}

function* takeLeadership(
  db: Dialect,
  name: string,
  { host, boot, pid, startTime }: ProcessIdentity,
  replaces: number | null,
): Script<number | null> {
  const taken = yield* one<{ term: number }>(sql`
    INSERT INTO gleaner.supervisors AS s (name, term, host, boot, pid, start_time, since, seen_at)
    VALUES (${name}, 1, ${host}, ${boot}, ${pid}, ${startTime}, ${db.now}, ${db.now})
    ON CONFLICT (name) DO UPDATE
    SET term = s.term + 1, host = excluded.host, boot = excluded.boot, pid = excluded.pid,
        start_time = excluded.start_time, since = excluded.since, seen_at = excluded.seen_at, has_left = ${false}
    WHERE s.term = ${replaces} RETURNING term`)
  return taken?.term ?? null
}

function* writeReport(
  db: Dialect,
  { name, term, workers, handled, leaving }: SupervisorReport,
): Script<boolean> {
  const changes = yield* change(sql`
    UPDATE gleaner.supervisors SET workers = ${workers}, seen_at = ${db.now}, has_left = ${leaving}
    WHERE name = ${name} AND term = ${term}`)
  if (changes === 0) return false
  if (handled !== null)
    yield* change(sql`DELETE FROM gleaner.commands WHERE supervisor = ${name} AND id <= ${Number(handled)}`)
  return true
}

function writeCommand(db: Dialect, { action, worker, supervisor }: NewCommand): Script<number> {
  return change(sql`
    INSERT INTO gleaner.commands (supervisor, action, worker, created_at)
    SELECT name, ${action}, ${worker}, ${db.now} FROM gleaner.supervisors WHERE name = coalesce(${supervisor}, name)`)
}

function commandsFor(name: string): Script<SupervisorCommand[]> {
  return rows<SupervisorCommand>(sql`
    SELECT CAST(id AS text) AS id, action, worker FROM gleaner.commands AS c WHERE supervisor = ${name} ORDER BY c.id`)
}
