import { PRIORITY_STEP } from '../../model/rank.ts'
import type { Claim, Want } from '../contract.ts'
import { FOLLOW_MS, IS_FOLLOWER, KEY_WITHOUT_MARK } from '../follower.ts'
import type { Lane } from '../lane.ts'
import { userKey } from '../task-row.ts'
import type { LaneBook } from './lanes.ts'
import { type LowWater, type Path, wholePath } from './low-water.ts'
import type { Sql } from './sql.ts'
import { Tally } from './tally.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

const READY = `status = 'queued' AND fence IS NULL AND NOT suspect`
/** What this connection has read of the index that READY walks, dead or alive: the server counts, and we look before and after. */
const ENTRIES_READ = `pg_stat_get_xact_tuples_returned('gleaner.tasks_ready'::regclass)`
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
  /** What the connection had read of the index of what is ready. */
  entriesBefore: number
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
               WHERE session = sessions.id AND cancel_requested AND fence IS NOT NULL) AS cancels,
         ${ENTRIES_READ} AS "entriesBefore"
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
export async function lookAhead(
  sql: Sql,
  open: readonly Lane[],
  lowWater: LowWater,
  thorough = false,
): Promise<Ahead> {
  const lanes = open.map((lane) => lane.id)
  const path = lowWater.pathOf(lanes)
  const ahead = await look(sql, path, lowWater)
  return ahead.ready || path.whole || !thorough ? ahead : look(sql, wholePath(lanes), lowWater)
}

async function look(sql: Sql, path: Path, lowWater: LowWater): Promise<Ahead> {
  type Row = { before: number; ready: boolean; suspects: boolean; due: number | null; after: number }
  const row = await sql.row<Row>(
    `SELECT ${ENTRIES_READ} AS before,
            EXISTS (SELECT 1 FROM unnest($1::int[], $2::bigint[], $3::bigint[]) l(lane, low, high), LATERAL (
              SELECT 1 FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${READY} AND rank >= l.low AND rank < l.high
              LIMIT 1) t) AS ready,
            EXISTS (SELECT 1 FROM gleaner.tasks WHERE lane = ANY($1) AND ${SUSPECT}) AS suspects,
            (SELECT min(run_after) FROM gleaner.tasks WHERE status = 'scheduled') AS due,
            ${ENTRIES_READ} AS after`,
    [path.lanes, path.from, path.to],
  )
  const { before, ready, suspects, due, after } = row!
  // What it has seen is still to be taken: the claim must walk the same way.
  if (!ready) lowWater.walked(path, { entries: after - before, taken: [] })
  return { ready, suspects, nextDueAt: due ?? Number.POSITIVE_INFINITY }
}

/** In a transaction: takes the next items of these lanes for this session. */
export async function claimTasks(
  sql: Sql,
  outlook: Outlook,
  lowWater: LowWater,
  session: string,
  want: Want,
  now: number,
): Promise<Claim[]> {
  const { open, dueAt } = outlook
  const due = dueAt !== null && dueAt <= now
  if (due) await promoteDue(sql, now)
  if (open.length === 0) return []
  const lanes = open.map((lane) => lane.id)
  // What has become due may be a suspect.
  const alone = want.empty && (outlook.suspects || due)
  const suspects = alone ? await take(sql, SUSPECT, wholePath(lanes), session, want.start, 1, now) : []
  const rows = suspects.length > 0 ? suspects : await takeReady(sql, outlook, lowWater, session, want, now)
  const laneOf = new Map(open.map((lane) => [lane.id, lane]))
  return rows.map((row) => claimOf(laneOf.get(row.lane)!, row))
}

async function takeReady(
  sql: Sql,
  { open, entriesBefore }: Outlook,
  lowWater: LowWater,
  session: string,
  want: Want,
  now: number,
): Promise<TakenRow[]> {
  const lanes = open.map((lane) => lane.id)
  const along = async (path: Path) => {
    const taken = await take(sql, READY, path, session, want.start, want.start + want.ahead, now)
    lowWater.walked(path, { entries: (taken[0]?.entries ?? entriesBefore) - entriesBefore, taken })
    return taken
  }
  const path = lowWater.pathOf(lanes)
  const rows = await along(path)
  return rows.length > 0 || path.whole || !want.thorough ? rows : along(wholePath(lanes))
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
  entries: number
}

/**
 * Each lane is in order already; what somebody else has just locked is passed over. The locked rows are found again by
 * their place in the table, which the lock holds still: by id it would take a walk through an index for each.
 */
async function take(
  sql: Sql,
  which: string,
  path: Path,
  session: string,
  start: number,
  count: number,
  now: number,
): Promise<TakenRow[]> {
  const rows = await sql.rows<TakenRow>(
    `WITH next AS MATERIALIZED (
       SELECT t.ctid AS place, row_number() OVER (ORDER BY t.rank, t.id) AS position
       FROM unnest($1::int[], $6::bigint[], $7::bigint[]) l(lane, low, high), LATERAL (
         SELECT ctid, id, rank FROM gleaner.tasks
         WHERE tasks.lane = l.lane AND ${which} AND rank >= l.low AND rank < l.high
         ORDER BY rank, id LIMIT $2 FOR UPDATE SKIP LOCKED) t
       ORDER BY t.rank, t.id LIMIT $2
     ), fence AS MATERIALIZED (
       SELECT nextval('gleaner.fence') AS value, ${ENTRIES_READ} AS entries WHERE EXISTS (SELECT 1 FROM next)
     )
     UPDATE gleaner.tasks SET session = $3, fence = fence.value, attempts = attempts + 1,
       status = CASE WHEN next.position <= $4 THEN 'running' ELSE status END,
       started_at = CASE WHEN next.position <= $4 THEN $5 ELSE started_at END
     FROM next, fence WHERE tasks.ctid = next.place
     RETURNING tasks.id, tasks.fence, rank, lane, input, attempts, max_attempts, overrides, key, created_at, status,
       suspect, fence.entries`,
    [path.lanes, count, session, start, now, path.from, path.to],
  )
  return rows.sort((a, b) => a.rank - b.rank || a.id - b.id)
}

/** A follower, and the one before it has not ended. */
const WAITS_FOR_KEY = `CASE WHEN ${IS_FOLLOWER} THEN EXISTS (
  SELECT 1 FROM gleaner.tasks before WHERE before.key = ${KEY_WITHOUT_MARK.replace('key', 'due.key')}
    AND before.status IN ('scheduled', 'queued', 'running')) ELSE false END`

async function promoteDue(sql: Sql, now: number): Promise<void> {
  const moved = await sql.rows<{ lane: number; n: number }>(
    `WITH due AS (
       SELECT id, key FROM gleaner.tasks WHERE status = 'scheduled' AND run_after <= $1
       ORDER BY run_after LIMIT ${PROMOTE_MAX} FOR UPDATE SKIP LOCKED
     ), waits AS MATERIALIZED (SELECT id, ${WAITS_FOR_KEY} AS waits FROM due
     ), moved AS (
       UPDATE gleaner.tasks SET
         status = CASE WHEN waits THEN status ELSE 'queued' END,
         rank = CASE WHEN waits THEN NULL ELSE priority * ${PRIORITY_STEP} + run_after END,
         run_after = CASE WHEN waits THEN $1 + ${FOLLOW_MS} ELSE run_after END,
         key = CASE WHEN waits THEN key ELSE ${KEY_WITHOUT_MARK} END
       FROM waits WHERE tasks.id = waits.id RETURNING lane, waits
     ) SELECT lane, count(*) AS n FROM moved WHERE NOT waits GROUP BY lane`,
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
