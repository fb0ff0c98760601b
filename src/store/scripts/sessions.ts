import type { Held } from '../../model/outcome.ts'
import { readRowId } from '../../model/row.ts'
import {
  BROKEN_WORKER_CRASHES,
  type EndCause,
  type EndKnowledge,
  type GiveBack,
  giveBack,
} from '../../model/session.ts'
import type { UnavailableResource } from '../../model/unavailable-resource.ts'
import type { ProcessIdentity } from '../../process-identity.ts'
import type { LiveSession, NewSession, SessionEnd } from '../ports/sessions.ts'
import { unavailableIn } from '../serving-row.ts'
import { supervisorOf, supervisorText } from '../session-row.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

export function* insertSession(db: Dialect, session: NewSession): Script<string> {
  const { host, boot, pid, startTime } = session.process
  const inserted = yield* one<{ id: string }>(sql`
    INSERT INTO gleaner.sessions (worker, host, boot, pid, start_time, queues, names, capabilities, discoveries,
      supervisor, lease_ms, caller, strategies, opened_at, renewed_at, lease_time)
    VALUES (${session.worker}, ${host}, ${boot}, ${pid}, ${startTime}, ${JSON.stringify(session.queues)},
      ${JSON.stringify(session.names)}, ${JSON.stringify(session.capabilities)},
      ${JSON.stringify(session.discoveries ?? [])}, ${supervisorText(session.supervisor)},
      ${session.pulls?.leaseMs ?? null}, ${session.pulls?.caller ?? null}, ${textOf(session.strategies)},
      ${db.now}, ${db.now}, (SELECT time_ms FROM gleaner.lease_clock))
    RETURNING CAST(id AS text) AS id`)
  return inserted!.id
}

function textOf(strategies: NewSession['strategies']): string | null {
  return strategies === undefined || Object.keys(strategies).length === 0 ? null : JSON.stringify(strategies)
}

interface LiveRow extends Omit<ProcessIdentity, 'startTime'> {
  id: string
  worker: string
  start_time: string | null
  supervisor: string | null
  renewals: number
  counted: number
  since: number
  holdups: string | null
  lease_ms: number | null
  caller: string | null
}

export function* readLiveSessions(db: Dialect): Script<LiveSession[]> {
  const live = yield* rows<LiveRow>(sql`
    SELECT CAST(s.id AS text) AS id, worker, host, boot, pid, start_time, supervisor, renewals, holdups, lease_ms, caller,
      c.time_ms - s.lease_time AS counted, ${db.now} - c.at AS since
    FROM gleaner.sessions AS s CROSS JOIN gleaner.lease_clock AS c WHERE s.ended_at IS NULL ORDER BY s.id`)
  return live.map(({ id, worker, renewals, host, boot, pid, start_time, ...row }) => ({
    id,
    worker,
    renewals,
    unrenewed: { countedMs: row.counted, sinceMs: row.since },
    leaseMs: row.lease_ms,
    caller: row.caller,
    process: { host, boot, pid, startTime: start_time },
    supervisor: supervisorOf(row.supervisor),
    unavailable: unavailableIn(row.holdups).unavailable,
  }))
}

/** What the worker does not claim because a resource is unavailable. */
export function* noteUnavailableResources(
  session: number,
  unavailable: readonly UnavailableResource[],
): Script<void> {
  const text = unavailable.length === 0 ? null : JSON.stringify(unavailable)
  yield* change(sql`UPDATE gleaner.sessions SET holdups = ${text} WHERE id = ${session} AND ended_at IS NULL`)
}

/** Tasks or rows that sessions held. */
export interface HeldItems {
  readonly items: readonly (Held & { session: number })[]
  /** Executes what was decided for each. True: a limit was reached, and is not any more. */
  giveBack(transitions: GiveBack['transitions'], now: number): Script<boolean>
}

/** Where a database keeps what sessions hold. All of it happens in the transaction that ends them. */
export interface Holdings {
  tasks(sessions: readonly number[]): Script<HeldItems>
  rows(sessions: readonly number[]): Script<HeldItems>
  /** Takes back what these rows were charged. */
  forgiveRows(ids: readonly string[]): Script<void>
  /** Removes what else belongs to the sessions. */
  forget(sessions: readonly number[]): Script<void>
}

export type EndedSession = SessionEnd & { ended: string[]; freed: boolean }

/** In a transaction: ends the session and gives back everything it held. Null: it had ended, or was renewed in the meantime. */
export function* endSession(
  db: Dialect,
  holdings: Holdings,
  { id, cause, known }: { id: number; cause: EndCause; known?: EndKnowledge | undefined },
): Script<EndedSession | null> {
  // A crash takes the whole process, and so all its sessions: what they held is decided together.
  const sessions = yield* lockSessions(db, id, cause === 'crash')
  const session = sessions.find((one) => one.id === id)
  if (session === undefined) return null
  if (known?.renewals !== undefined && known.renewals !== session.renewals) return null

  const now = yield* db.time()
  const ids = sessions.map((one) => one.id)
  const tasks = yield* holdings.tasks(ids)
  const heldRows = yield* holdings.rows(ids)
  const held = [...tasks.items, ...heldRows.items]
  const culprit = sessions.find((one) => one.id === held[0]?.session) ?? session
  const useless = cause === 'crash' && sessions.every((one) => one.completed === 0)
  const { transitions, blamed, forgiven, workerBroken } = giveBack(cause, held, {
    blamedBefore: useless ? yield* blamedBefore(culprit) : [],
    signature: known?.signature,
  })
  const freed = yield* tasks.giveBack(transitions, now)
  yield* heldRows.giveBack(transitions, now)
  yield* forgive(db, holdings, forgiven)
  yield* holdings.forget(ids)
  yield* change(sql`
    UPDATE gleaner.sessions SET ended_at = ${now}, cause = ${cause},
      blamed = CASE WHEN id = ${culprit.id} THEN CAST(${blamed} AS text) END
    WHERE id ${db.oneOf(ids)}`)
  const becomes = (one: { id: string }) => transitions.get(one.id)!.to
  const ended = tasks.items.filter((one) => becomes(one) !== 'waiting').map((one) => one.id)
  const quarantined = heldRows.items.filter((one) => becomes(one) !== 'waiting').length
  return { returned: held.length - ended.length - quarantined, blamed, workerBroken, ended, freed }
}

interface SessionRow {
  id: number
  worker: string
  renewals: number
  completed: number
}

/** The session, or all live ones of its process, in one order: no two that end the same process wait for each other. */
function lockSessions(db: Dialect, id: number, wholeProcess: boolean): Script<SessionRow[]> {
  const others = wholeProcess
    ? sql`OR (s.host = this.host AND s.boot = this.boot AND s.pid = this.pid
              AND s.start_time IS NOT DISTINCT FROM this.start_time)`
    : sql``
  return rows<SessionRow>(sql`
    SELECT s.id, s.worker, s.renewals, s.completed
    FROM gleaner.sessions AS s JOIN gleaner.sessions AS this ON this.id = ${id}
    WHERE s.ended_at IS NULL AND (s.id = this.id ${others}) ORDER BY s.id ${db.forUpdateOf('s')}`)
}

/** The items that this worker's last sessions crashed on, newest first, as long as they did nothing but crash. */
function* blamedBefore({ worker, id }: SessionRow): Script<string[]> {
  const before = yield* rows<{ cause: string | null; blamed: string | null; completed: number }>(sql`
    SELECT cause, blamed, completed FROM gleaner.sessions WHERE worker = ${worker} AND id < ${id}
    ORDER BY id DESC LIMIT ${BROKEN_WORKER_CRASHES - 1}`)
  const row: string[] = []
  for (const { cause, blamed, completed } of before) {
    if (cause !== 'crash' || blamed === null || completed === 1) break
    row.push(blamed)
  }
  return row
}

/** The worker was broken, not these items: what they were charged is taken back. */
function* forgive(db: Dialect, { forgiveRows }: Holdings, items: readonly string[]): Script<void> {
  yield* forgiveRows(items.filter((id) => readRowId(id) !== null))
  const tasks = items.filter((id) => readRowId(id) === null).map(Number)
  if (tasks.length === 0) return
  yield* change(sql`
    UPDATE gleaner.tasks SET crashes = crashes - 1, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END
    WHERE id ${db.oneOf(tasks)} AND crashes > 0 AND finished_at IS NULL`)
}
