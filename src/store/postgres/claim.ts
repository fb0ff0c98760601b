import { PRIORITY_STEP } from '../../model/rank.ts'
import type { Claim, Want } from '../contract.ts'
import type { Lane } from '../lane.ts'
import { userKey } from '../task-row.ts'
import type { LaneBook } from './lanes.ts'
import type { LowWater } from './low-water.ts'
import type { Sql } from './sql.ts'
import { Tally } from './tally.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

const READY = `status = 'queued' AND fence IS NULL AND NOT suspect`
const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect`

/** What an exchange has to know first, in one round trip. */
export interface Outlook {
  live: boolean
  /** The session has finished something before. */
  useful: boolean
  now: number
  /** The lanes this worker may take from now: not those of a paused queue. */
  open: readonly Lane[]
  /** Somewhere a suspect waits. */
  suspects: boolean
  /** When the next delayed task is due; null: there is none. */
  dueAt: number | null
  /** What this session holds and is asked to stop. */
  cancels: readonly string[]
}

interface OutlookRow extends Omit<Outlook, 'open'> {
  everything: boolean
  queues: string[]
  highest: number | null
}

const OUTLOOK = `
  SELECT ended_at IS NULL AS live, completed <> 0 AS useful, gleaner.now_ms() AS now,
         (SELECT value <> 0 FROM gleaner.settings WHERE key = 'paused') AS everything,
         ARRAY(SELECT name FROM gleaner.queues WHERE paused) AS queues,
         (SELECT max(id) FROM gleaner.lanes) AS highest,
         EXISTS (SELECT 1 FROM gleaner.tasks WHERE ${SUSPECT}) AS suspects,
         (SELECT min(run_after) FROM gleaner.tasks WHERE status = 'scheduled') AS "dueAt",
         ARRAY(SELECT tasks.id::text FROM gleaner.tasks
               WHERE session = sessions.id AND cancel_requested AND fence IS NOT NULL) AS cancels
  FROM gleaner.sessions WHERE sessions.id = $1`

/**
 * Null: there is no such session. `locked`, in a transaction: whoever wants to end the session waits for our commit, and
 * then finds what we claimed under it. That does not hold up the keeper, which changes no key.
 */
export async function lookOut(
  sql: Sql,
  lanes: LaneBook,
  session: string,
  want: Want | null,
  { locked }: { locked: boolean },
): Promise<Outlook | null> {
  const row = await sql.row<OutlookRow>(locked ? `${OUTLOOK} FOR KEY SHARE OF sessions` : OUTLOOK, [session])
  if (row === undefined) return null
  if (want === null || row.everything) return { ...row, open: [] }
  await lanes.knowing(row.highest, sql)
  const open = lanes.claimable(want.able).filter((lane) => !row.queues.includes(lane.queue))
  return { ...row, open }
}

/** What waits. Infinity: nothing is scheduled. */
export interface Ahead {
  ready: boolean
  suspects: boolean
  nextDueAt: number
}

/** Without a lock. */
export async function lookAhead(sql: Sql, open: readonly Lane[], lowWater: LowWater): Promise<Ahead> {
  const ids = open.map((lane) => lane.id)
  const marks = lowWater.marksOf(ids)
  const beganMs = performance.now()
  const row = await sql.row<{ ready: boolean; suspects: boolean; due: number | null }>(
    `SELECT EXISTS (SELECT 1 FROM unnest($1::int[], $2::bigint[]) l(lane, mark), LATERAL (
              SELECT 1 FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${READY} AND rank >= l.mark LIMIT 1) t) AS ready,
            EXISTS (SELECT 1 FROM gleaner.tasks WHERE lane = ANY($1) AND ${SUSPECT}) AS suspects,
            (SELECT min(run_after) FROM gleaner.tasks WHERE status = 'scheduled') AS due`,
    [ids, marks],
  )
  lowWater.walked(marks, [], performance.now() - beganMs)
  return {
    ready: row?.ready ?? false,
    suspects: row?.suspects ?? false,
    nextDueAt: row?.due ?? Number.POSITIVE_INFINITY,
  }
}

/** In a transaction: takes the next items of these lanes for this session. */
export async function claimTasks(
  sql: Sql,
  { open, suspects: suspectsWait, dueAt }: Outlook,
  lowWater: LowWater,
  session: string,
  want: Want,
  now: number,
): Promise<Claim[]> {
  if (dueAt !== null && dueAt <= now) await promoteDue(sql, now)
  if (open.length === 0) return []
  const ids = open.map((lane) => lane.id)
  const suspects =
    want.empty && suspectsWait
      ? await take(
          sql,
          SUSPECT,
          ids,
          ids.map(() => 0),
          session,
          want.start,
          1,
          now,
        )
      : []
  const rows = suspects.length > 0 ? suspects : await takeReady(sql, ids, lowWater, session, want, now)
  const laneOf = new Map(open.map((lane) => [lane.id, lane]))
  return rows.map((row) => claimOf(laneOf.get(row.lane)!, row))
}

async function takeReady(
  sql: Sql,
  lanes: readonly number[],
  lowWater: LowWater,
  session: string,
  want: Want,
  now: number,
): Promise<TakenRow[]> {
  const marks = lowWater.marksOf(lanes)
  const beganMs = performance.now()
  const rows = await take(sql, READY, lanes, marks, session, want.start, want.start + want.ahead, now)
  lowWater.walked(marks, rows, performance.now() - beganMs)
  return rows
}

interface TakenRow {
  id: number
  fence: number
  rank: number
  lane: number
  input: string | null
  attempts: number
  max_attempts: number
  overrides: string | null
  key: string | null
  created_at: number
  status: string
  suspect: boolean
}

/**
 * Each lane is in order already; what somebody else has just locked is passed over. The locked rows are found again by
 * their place in the table, which the lock holds still: by id it would take a walk through an index for each.
 */
async function take(
  sql: Sql,
  which: string,
  lanes: readonly number[],
  marks: readonly number[],
  session: string,
  start: number,
  count: number,
  now: number,
): Promise<TakenRow[]> {
  const rows = await sql.rows<TakenRow>(
    `WITH next AS MATERIALIZED (
       SELECT t.ctid AS place, row_number() OVER (ORDER BY t.rank, t.id) AS position
       FROM unnest($1::int[], $6::bigint[]) l(lane, mark), LATERAL (
         SELECT ctid, id, rank FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${which} AND rank >= l.mark
         ORDER BY rank, id LIMIT $2 FOR UPDATE SKIP LOCKED) t
       ORDER BY t.rank, t.id LIMIT $2
     ), fence AS MATERIALIZED (SELECT nextval('gleaner.fence') AS value WHERE EXISTS (SELECT 1 FROM next))
     UPDATE gleaner.tasks SET session = $3, fence = fence.value, attempts = attempts + 1,
       status = CASE WHEN next.position <= $4 THEN 'running' ELSE status END,
       started_at = CASE WHEN next.position <= $4 THEN $5 ELSE started_at END
     FROM next, fence WHERE tasks.ctid = next.place
     RETURNING tasks.id, tasks.fence, rank, lane, input, attempts, max_attempts, overrides, key, created_at, status,
       suspect`,
    [lanes, count, session, start, now, marks],
  )
  return rows.sort((a, b) => a.rank - b.rank || a.id - b.id)
}

async function promoteDue(sql: Sql, now: number): Promise<void> {
  const moved = await sql.rows<{ lane: number; n: number }>(
    `WITH due AS (
       SELECT id FROM gleaner.tasks WHERE status = 'scheduled' AND run_after <= $1
       ORDER BY run_after LIMIT ${PROMOTE_MAX} FOR UPDATE SKIP LOCKED
     ), moved AS (
       UPDATE gleaner.tasks SET status = 'queued', rank = priority * ${PRIORITY_STEP} + run_after
       FROM due WHERE tasks.id = due.id RETURNING lane
     ) SELECT lane, count(*) AS n FROM moved GROUP BY lane`,
    [now],
  )
  const tally = new Tally()
  for (const { lane, n } of moved) tally.add(lane, 'scheduled', -n)
  await tally.write(sql)
}

function claimOf(lane: Lane, row: TakenRow): Claim {
  return {
    id: String(row.id),
    fence: row.fence,
    name: lane.name,
    queue: lane.queue,
    input: row.input,
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    overrides: row.overrides === null ? null : JSON.parse(row.overrides),
    key: userKey(lane.name, row.key),
    createdAt: row.created_at,
    started: row.status === 'running',
    suspect: row.suspect,
  }
}
