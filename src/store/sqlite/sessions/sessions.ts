import type { Holdup } from '../../../model/holdup.ts'
import { readRowId } from '../../../model/row.ts'
import {
  BROKEN_WORKER_CRASHES,
  type EndCause,
  type EndKnowledge,
  type GiveBack,
  giveBack,
} from '../../../model/session.ts'
import type { ProcessIdentity } from '../../../process-identity.ts'
import type { LiveSession, NewSession, SessionEnd } from '../../contract.ts'
import { heldUp } from '../../serving-row.ts'
import { supervisorOf, supervisorText } from '../../session-row.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { forgiveRow, giveRowBack, type HeldRow, rowsHeldBy } from '../rows/held.ts'
import { reserveFences } from '../tasks/claim.ts'
import { Tally } from '../tasks/tally.ts'
import { allHeldBy, apply } from '../tasks/transition.ts'

export function insertSession(db: Statements, session: NewSession, now: number): string {
  reserveFences(db)
  const { host, boot, pid, startTime } = session.process
  const id = db
    .scalar(`INSERT INTO gleaner_sessions
               (worker, host, boot, pid, start_time, queues, names, capabilities, discoveries, supervisor,
                opened_at, renewed_at, lease_time)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT time_ms FROM gleaner_lease_clock)) RETURNING id`)
    .get(
      session.worker,
      host,
      boot,
      pid,
      startTime,
      JSON.stringify(session.queues),
      JSON.stringify(session.names),
      JSON.stringify(session.capabilities),
      JSON.stringify(session.discoveries ?? []),
      supervisorText(session.supervisor),
      now,
      now,
    )
  return String(id)
}

export function isLive(db: Statements, session: number): boolean {
  return db.sql('SELECT 1 FROM gleaner_sessions WHERE id = ? AND ended_at IS NULL').get(session) !== undefined
}

/** What it does not claim for want of a resource. */
export function noteHoldups(db: Statements, session: number, holdups: readonly Holdup[]): void {
  const said = holdups.length === 0 ? null : JSON.stringify(holdups)
  db.sql('UPDATE gleaner_sessions SET holdups = ? WHERE id = ? AND ended_at IS NULL').run(said, session)
}

/** It finished something: whatever it crashes on later, it does not crash on everything. */
export function markUseful(db: Statements, session: number): void {
  db.sql('UPDATE gleaner_sessions SET completed = 1 WHERE id = ? AND completed = 0').run(session)
}

export function readLiveSessions(db: Statements, now: number): LiveSession[] {
  const rows = db
    .sql(
      `SELECT id, worker, host, boot, pid, start_time, supervisor, renewals, holdups, time_ms - lease_time AS counted, ? - at AS since
       FROM gleaner_sessions, gleaner_lease_clock WHERE ended_at IS NULL`,
    )
    .all(now) as ({
    id: number
    worker: string
    start_time: string | null
    supervisor: string | null
    renewals: number
    counted: number
    since: number
    holdups: string | null
  } & ProcessIdentity)[]
  return rows.map(
    ({ id, worker, renewals, counted, since, host, boot, pid, start_time, supervisor, holdups }) => ({
      id: String(id),
      worker,
      renewals,
      unrenewed: { countedMs: counted, sinceMs: since },
      process: { host, boot, pid, startTime: start_time },
      supervisor: supervisorOf(supervisor),
      holdups: heldUp(holdups).holdups,
    }),
  )
}

/** Inside a write transaction: ends the session, and gives back all it held. */
export function endSession(
  db: Statements,
  memory: Memory,
  id: number,
  cause: EndCause,
  known: EndKnowledge | undefined,
  now: number,
): (SessionEnd & { ended: string[]; freed: boolean }) | null {
  const session = liveSession(db, id)
  if (session === undefined) return null
  // Renewed since it was last looked at: it lives.
  if (known?.renewals !== undefined && known.renewals !== session.renewals) return null

  // A crash takes the whole process, and so all its sessions: what they held is judged together.
  const sessions = cause === 'crash' ? sessionsOfProcess(db, id) : [session]
  const tasks = sessions.flatMap((one) => allHeldBy(db, one.id))
  const rows = sessions.flatMap((one) => rowsHeldBy(db, memory.rows.book, one.id))
  const held = [...tasks, ...rows]
  const culprit = sessions.find((one) => one.id === held[0]?.session) ?? session
  const useless = cause === 'crash' && sessions.every((one) => one.completed === 0)
  const verdict = giveBack(cause, held, {
    blamedBefore: useless ? blamedBefore(db, culprit.worker, culprit.id) : [],
    signature: known?.signature,
  })
  const tally = new Tally()
  const ended: string[] = []
  for (const task of tasks) {
    const transition = verdict.transitions.get(task.id)!
    apply(db, memory, task, transition, now, tally)
    if (transition.to !== 'waiting') ended.push(task.id)
  }
  const quarantined = giveRowsBack(db, memory, rows, verdict.transitions, now)
  const freed = tally.write(db)
  forgive(db, verdict.forgiven)
  for (const one of sessions) {
    const blamed = one.id === culprit.id ? verdict.blamed : null
    db.sql('UPDATE gleaner_sessions SET ended_at = ?, cause = ?, blamed = ? WHERE id = ?').run(
      now,
      cause,
      blamed,
      one.id,
    )
  }
  const { blamed, workerBroken } = verdict
  return { returned: held.length - ended.length - quarantined, blamed, workerBroken, ended, freed }
}

/** How many of them are not to be had again. */
function giveRowsBack(
  db: Statements,
  { rows: { book } }: Memory,
  rows: readonly HeldRow[],
  transitions: GiveBack['transitions'],
  now: number,
): number {
  let quarantined = 0
  for (const row of rows) {
    const transition = transitions.get(row.id)!
    if (transition.to !== 'waiting' && transition.to !== 'failed')
      throw new Error(`a row became ${transition.to}`)
    if (transition.to === 'failed') quarantined += 1
    giveRowBack(db, book, row, transition, now)
  }
  return quarantined
}

interface SessionRow {
  id: number
  worker: string
  renewals: number
  completed: number
}

function liveSession(db: Statements, id: number): SessionRow | undefined {
  return db
    .sql('SELECT id, worker, renewals, completed FROM gleaner_sessions WHERE id = ? AND ended_at IS NULL')
    .get(id) as SessionRow | undefined
}

function sessionsOfProcess(db: Statements, id: number): SessionRow[] {
  return db
    .sql(`SELECT s.id, s.worker, s.renewals, s.completed FROM gleaner_sessions s, gleaner_sessions one
          WHERE one.id = ? AND s.ended_at IS NULL AND s.host = one.host AND s.boot = one.boot AND s.pid = one.pid
            AND s.start_time IS one.start_time ORDER BY s.id`)
    .all(id) as SessionRow[]
}

/** What this worker's last sessions crashed on, newest first, as long as they did nothing but crash. */
function blamedBefore(db: Statements, worker: string, session: number): string[] {
  const before = db
    .sql(`SELECT cause, blamed, completed FROM gleaner_sessions WHERE worker = ? AND id < ?
          ORDER BY id DESC LIMIT ${BROKEN_WORKER_CRASHES - 1}`)
    .all(worker, session) as { cause: string | null; blamed: string | null; completed: number }[]
  const row: string[] = []
  for (const { cause, blamed, completed } of before) {
    if (cause !== 'crash' || blamed === null || completed === 1) break
    row.push(blamed)
  }
  return row
}

/** The worker was broken, not these: what they were charged is taken back. */
function forgive(db: Statements, items: readonly string[]): void {
  for (const id of items) {
    const row = readRowId(id)
    if (row !== null) {
      forgiveRow(db, row.discovery, row.key)
      continue
    }
    db.sql(`UPDATE gleaner_tasks SET crashes = crashes - 1, attempts = max(0, attempts - 1)
            WHERE id = ? AND crashes > 0 AND finished_at IS NULL`).run(Number(id))
  }
}
