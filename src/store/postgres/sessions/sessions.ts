import type { Holdup } from '../../../model/holdup.ts'
import { readRowId } from '../../../model/row.ts'
import { BROKEN_WORKER_CRASHES, type EndCause, type EndKnowledge, giveBack } from '../../../model/session.ts'
import type { LiveSession, NewSession, SessionEnd } from '../../contract.ts'
import { heldUp } from '../../serving-row.ts'
import { supervisorOf, supervisorText } from '../../session-row.ts'
import type { Memory } from '../memory.ts'
import { leaveRaces } from '../order/races.ts'
import { forgiveRows, giveRowsBack, takeRowsFrom } from '../rows/giving-back.ts'
import { LIFE } from '../server/server-life.ts'
import type { Sql } from '../server/sql.ts'
import { Tally } from '../tasks/tally.ts'
import { allHeldBy, applyAll } from '../tasks/transition.ts'

/** With the life of the server in which it was opened. */
export async function insertSession(
  sql: Sql,
  session: NewSession,
  clockMs: number | null,
): Promise<{ id: string; life: number | null }> {
  const { host, boot, pid, startTime } = session.process
  // Whatever the server's default is: an id that is forgotten again would be given to another worker.
  await sql.run(`SELECT pg_catalog.set_config('synchronous_commit', 'on', true)`)
  const row = await sql.row<{ id: string; life: number | null }>(
    `INSERT INTO gleaner.sessions (worker, host, boot, pid, start_time, queues, names, capabilities, discoveries,
       supervisor, opened_at, renewed_at, lease_time)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now, now, (SELECT time_ms FROM gleaner.lease_clock)
     FROM (SELECT coalesce($11::bigint, gleaner.now_ms()) AS now) moment
     RETURNING id::text AS id, ${LIFE} AS life`,
    [
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
      clockMs,
    ],
  )
  return row!
}

/**
 * Whether the session lives, the server's time, and whether there are limits. The lock makes whoever wants to end it wait for our commit: he
 * then finds what we claimed under it. It does not hold up the keeper, which changes no key.
 */
export async function liveUntilCommit(
  sql: Sql,
  session: string,
): Promise<{ live: boolean; now: number; limited: boolean }> {
  const row = await sql.row<{ live: boolean; now: number; limited: boolean }>(
    `SELECT ended_at IS NULL AS live, gleaner.now_ms() AS now,
            EXISTS (SELECT 1 FROM gleaner.settings WHERE key IN ('limits', 'keyed') AND value > 0) AS limited
     FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`,
    [session],
  )
  return row ?? { live: false, now: 0, limited: false }
}

/** What it does not claim for want of a resource. */
export async function noteHoldups(sql: Sql, session: string, holdups: readonly Holdup[]): Promise<void> {
  const said = holdups.length === 0 ? null : JSON.stringify(holdups)
  await sql.run('UPDATE gleaner.sessions SET holdups = $2 WHERE id = $1 AND ended_at IS NULL', [
    session,
    said,
  ])
}

/** It finished something: whatever it crashes on later, it does not crash on everything. */
export async function markUseful(sql: Sql, session: string): Promise<void> {
  await sql.run('UPDATE gleaner.sessions SET completed = 1 WHERE id = $1 AND completed = 0', [session])
}

export async function readLiveSessions(sql: Sql, clockMs: number | null): Promise<LiveSession[]> {
  type Row = {
    id: string
    worker: string
    host: string
    boot: string
    pid: number
    start_time: string | null
    supervisor: string | null
    renewals: number
    counted: number
    since: number
    holdups: string | null
  }
  const rows = await sql.rows<Row>(
    `SELECT id::text AS id, worker, host, boot, pid, start_time, supervisor, renewals, holdups,
       time_ms - lease_time AS counted, coalesce($1::bigint, gleaner.now_ms()) - at AS since
     FROM gleaner.sessions, gleaner.lease_clock WHERE ended_at IS NULL ORDER BY sessions.id`,
    [clockMs],
  )
  return rows.map(
    ({ id, worker, renewals, counted, since, host, boot, pid, start_time, supervisor, holdups }) => ({
      id,
      worker,
      renewals,
      unrenewed: { countedMs: counted, sinceMs: since },
      process: { host, boot, pid, startTime: start_time },
      supervisor: supervisorOf(supervisor),
      holdups: heldUp(holdups).holdups,
    }),
  )
}

interface SessionRow {
  id: number
  worker: string
  renewals: number
  completed: number
}

/** In a transaction: ends the session, and gives back all it held. */
export async function endSession(
  sql: Sql,
  memory: Memory,
  id: string,
  cause: EndCause,
  known: EndKnowledge | undefined,
  clockMs: number | null,
): Promise<(SessionEnd & { ended: string[]; freed: boolean }) | null> {
  // A crash takes the whole process, and so all its sessions: what they held is judged together.
  const sessions = await lockSessions(sql, id, cause === 'crash')
  const session = sessions.find((one) => String(one.id) === id)
  if (session === undefined) return null
  // Renewed since it was last looked at: it lives.
  if (known?.renewals !== undefined && known.renewals !== session.renewals) return null

  const now = clockMs ?? session.now
  const ids = sessions.map((one) => one.id)
  const tasks = await allHeldBy(sql, ids)
  const rows = await takeRowsFrom(sql, ids)
  const held = [...tasks, ...rows.map((row) => ({ ...row.held, session: row.session }))]
  const culprit = sessions.find((one) => one.id === held[0]?.session) ?? session
  const useless = cause === 'crash' && sessions.every((one) => one.completed === 0)
  const verdict = giveBack(cause, held, {
    blamedBefore: useless ? await blamedBefore(sql, culprit) : [],
    signature: known?.signature,
  })
  const tally = new Tally()
  const ended: string[] = []
  const decided = tasks.map((task) => ({ task, transition: verdict.transitions.get(task.id)! }))
  await applyAll(sql, memory, decided, now, tally)
  for (const { task, transition } of decided) if (transition.to !== 'waiting') ended.push(task.id)
  await tally.write(sql)
  const quarantined = await giveRowsBack(sql, memory.discoveries, rows, verdict.transitions, now)
  await sql.run('DELETE FROM gleaner.batches WHERE session = ANY($1::bigint[])', [ids])
  const freed = await tally.slots.write(sql)
  await forgive(sql, verdict.forgiven)
  await leaveRaces(sql, ids)
  await sql.run(
    `UPDATE gleaner.sessions SET ended_at = $1, cause = $2, blamed = CASE WHEN id = $3 THEN $4::text END
     WHERE id = ANY($5::bigint[])`,
    [now, cause, culprit.id, verdict.blamed, ids],
  )
  const { blamed, workerBroken } = verdict
  return { returned: held.length - ended.length - quarantined, blamed, workerBroken, ended, freed }
}

/** In the order of their ids, so that two who end the same process do not wait for each other. */
function lockSessions(sql: Sql, id: string, process: boolean): Promise<(SessionRow & { now: number })[]> {
  return sql.rows(
    `SELECT s.id, s.worker, s.renewals, s.completed, gleaner.now_ms() AS now
     FROM gleaner.sessions s JOIN gleaner.sessions one ON one.id = $1
     WHERE s.ended_at IS NULL AND (s.id = one.id OR ($2 AND s.host = one.host AND s.boot = one.boot
       AND s.pid = one.pid AND s.start_time IS NOT DISTINCT FROM one.start_time))
     ORDER BY s.id FOR UPDATE OF s`,
    [id, process],
  )
}

/** What this worker's last sessions crashed on, newest first, as long as they did nothing but crash. */
async function blamedBefore(sql: Sql, { worker, id }: SessionRow): Promise<string[]> {
  const before = await sql.rows<{ cause: string | null; blamed: string | null; completed: number }>(
    `SELECT cause, blamed, completed FROM gleaner.sessions WHERE worker = $1 AND id < $2
     ORDER BY id DESC LIMIT ${BROKEN_WORKER_CRASHES - 1}`,
    [worker, id],
  )
  const row: string[] = []
  for (const { cause, blamed, completed } of before) {
    if (cause !== 'crash' || blamed === null || completed === 1) break
    row.push(blamed)
  }
  return row
}

/** The worker was broken, not these: what they were charged is taken back. */
async function forgive(sql: Sql, items: readonly string[]): Promise<void> {
  await forgiveRows(sql, items)
  const tasks = items.filter((id) => readRowId(id) === null)
  if (tasks.length === 0) return
  await sql.run(
    `UPDATE gleaner.tasks SET crashes = crashes - 1, attempts = greatest(0, attempts - 1)
     WHERE id = ANY($1::bigint[]) AND crashes > 0 AND finished_at IS NULL`,
    [tasks],
  )
}
