import { rankOf } from '../../model/rank.ts'
import type { Claim, Want } from '../contract.ts'
import { isFollower } from '../follower.ts'
import type { Lane } from '../lane.ts'
import { userKey } from '../task-row.ts'
import { INPUT_ELSEWHERE } from './enqueue.ts'
import { takesOver } from './held-key.ts'
import type { LaneCache } from './lanes.ts'
import type { Statements } from './statements.ts'
import { Tally } from './tally.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

const READY = `status = 'queued' AND fence IS NULL AND suspect = 0`
const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`

/** Whether a claim would find anything: a look that takes no lock. */
export function somethingToClaim(db: Statements, lanes: readonly Lane[], want: Want, now: number): boolean {
  if (nextDueAt(db) <= now) return true
  return lanes.some((lane) => heads(db, READY, lane, 1).length > 0 || (want.empty && suspectIn(db, lane)))
}

/** Inside a write transaction: takes the next items of these lanes for this session. */
export function claimTasks(
  db: Statements,
  lanes: LaneCache,
  open: readonly Lane[],
  session: number,
  want: Want,
  now: number,
): Claim[] {
  promoteDue(db, now)
  const suspect = want.empty ? firstSuspect(db, open) : null
  const next = suspect === null ? firstReady(db, open, want.start + want.ahead) : readWaiting(db, [suspect])
  if (next.length === 0) return []
  const fence = nextFence(db)
  hold(db, next, session, fence, want.start, now)
  lanes.remember(fence, next)
  return next.map((row, position) => claimOf(db, lanes, row, fence, position < want.start))
}

/** The lanes this worker may take from now: not those of a paused queue. */
export function openLanes(db: Statements, lanes: LaneCache, want: Want): readonly Lane[] {
  if (db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'paused'`).get() !== 0) return []
  const claimable = lanes.claimable(want.able)
  const paused = db.scalar('SELECT name FROM gleaner_queues WHERE paused = 1').all() as string[]
  return paused.length === 0 ? claimable : claimable.filter((lane) => !paused.includes(lane.queue))
}

export function suspectsWaiting(db: Statements, lanes: readonly Lane[]): boolean {
  return lanes.some((lane) => suspectIn(db, lane))
}

/** Infinity when nothing is scheduled. */
export function nextDueAt(db: Statements): number {
  const at = db.scalar(`SELECT min(run_after) FROM gleaner_tasks WHERE status = 'scheduled'`).get()
  return (at as number | null) ?? Number.POSITIVE_INFINITY
}

interface Head {
  id: number
  rank: number
}

function heads(db: Statements, which: string, lane: Lane, limit: number): Head[] {
  return db
    .sql(`SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${which} ORDER BY rank, id LIMIT ?`)
    .all(lane.id, limit) as Head[]
}

function suspectIn(db: Statements, lane: Lane): boolean {
  return heads(db, SUSPECT, lane, 1).length > 0
}

function firstSuspect(db: Statements, lanes: readonly Lane[]): Head | null {
  return lanes.flatMap((lane) => heads(db, SUSPECT, lane, 1)).sort(byRank)[0] ?? null
}

/** Each lane is in order already: one is simply read, several are merged by rank. */
function firstReady(db: Statements, lanes: readonly Lane[], count: number): WaitingRow[] {
  const [only, another] = lanes
  if (only !== undefined && another === undefined) {
    return db
      .sql(`SELECT ${WAITING} FROM gleaner_tasks WHERE lane = ? AND ${READY} ORDER BY rank, id LIMIT ?`)
      .all(only.id, count) as WaitingRow[]
  }
  const merged = lanes.flatMap((lane) => heads(db, READY, lane, count)).sort(byRank)
  return readWaiting(db, merged.slice(0, count))
}

function readWaiting(db: Statements, next: readonly Head[]): WaitingRow[] {
  const rows = db
    .sql(`SELECT ${WAITING} FROM gleaner_tasks WHERE id IN (SELECT value FROM json_each(?))`)
    .all(idList(next)) as WaitingRow[]
  const byId = new Map(rows.map((row) => [row.id, row]))
  return next.map(({ id }) => byId.get(id)!)
}

function idList(rows: readonly { id: number }[]): string {
  return JSON.stringify(rows.map((row) => row.id))
}

function byRank(a: Head, b: Head): number {
  return a.rank - b.rank || a.id - b.id
}

function promoteDue(db: Statements, now: number): void {
  if (nextDueAt(db) > now) return
  const due = db
    .sql(`SELECT id, lane, priority, run_after, key FROM gleaner_tasks
          WHERE status = 'scheduled' AND run_after <= ? ORDER BY run_after LIMIT ${PROMOTE_MAX}`)
    .all(now) as { id: number; lane: number; priority: number; run_after: number; key: string | null }[]
  const tally = new Tally()
  for (const { id, lane, priority, run_after, key } of due) {
    if (isFollower(key) && !takesOver(db, id, key, now)) continue
    db.sql(`UPDATE gleaner_tasks SET status = 'queued', rank = ? WHERE id = ?`).run(
      rankOf(priority, run_after),
      id,
    )
    tally.add(lane, 'scheduled', -1)
  }
  tally.write(db)
}

function nextFence(db: Statements): number {
  return db
    .scalar(`UPDATE gleaner_meta SET value = value + 1 WHERE key = 'fence' RETURNING value`)
    .get() as number
}

interface WaitingRow {
  id: number
  lane: number
  input: string | null
  attempts: number
  max_attempts: number
  overrides: string | null
  key: string | null
  created_at: number
  suspect: number
}

const WAITING = 'id, lane, input, attempts, max_attempts, overrides, key, created_at, suspect'

/** One statement for those that start at once, one for those held ahead: half the cost of one by one. */
function hold(
  db: Statements,
  rows: readonly WaitingRow[],
  session: number,
  fence: number,
  start: number,
  now: number,
): void {
  db.sql('INSERT INTO gleaner_batches (fence, session, tasks, unsettled) VALUES (?, ?, ?, ?)').run(
    fence,
    session,
    idList(rows),
    rows.length,
  )
  db.sql(`UPDATE gleaner_tasks SET session = ?, fence = ?, attempts = attempts + 1, status = 'running', started_at = ?
          WHERE id IN (SELECT value FROM json_each(?))`).run(
    session,
    fence,
    now,
    idList(rows.slice(0, start)),
  )
  if (rows.length <= start) return
  db.sql(`UPDATE gleaner_tasks SET session = ?, fence = ?, attempts = attempts + 1
          WHERE id IN (SELECT value FROM json_each(?))`).run(session, fence, idList(rows.slice(start)))
}

function claimOf(db: Statements, lanes: LaneCache, row: WaitingRow, fence: number, started: boolean): Claim {
  const lane = lanes.get(row.lane)
  return {
    id: String(row.id),
    fence,
    name: lane.name,
    queue: lane.queue,
    input: inputOf(db, row.id, row.input),
    attempt: row.attempts + 1,
    maxAttempts: row.max_attempts,
    overrides: row.overrides === null ? null : JSON.parse(row.overrides),
    key: userKey(lane.name, row.key),
    createdAt: row.created_at,
    started,
    suspect: row.suspect === 1,
  }
}

export function inputOf(db: Statements, id: number, input: string | null): string | null {
  if (input !== INPUT_ELSEWHERE) return input
  return db.scalar('SELECT input FROM gleaner_inputs WHERE task = ?').get(id) as string
}
