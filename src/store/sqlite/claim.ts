import { isLastFirst } from '../../model/rank.ts'
import type { Claim, Want } from '../contract.ts'
import type { Lane } from '../lane.ts'
import { furthest, type Runner } from '../runners.ts'
import { userKey } from '../task-row.ts'
import { inTurn } from '../turns.ts'
import { INPUT_ELSEWHERE } from './enqueue.ts'
import type { LaneCache } from './lanes.ts'
import type { Memory } from './memory.ts'
import type { QueueBook } from './queue-book.ts'
import type { Statements } from './statements.ts'
import { Tally } from './tally.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

const READY = `status = 'queued' AND fence IS NULL AND suspect = 0`
const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`

/** Whether a claim would find anything: a look that takes no lock. */
export function somethingToClaim(db: Statements, lanes: readonly Lane[], want: Want, now: number): boolean {
  if (nextDueAt(db) <= now) return true
  return lanes.some((lane) => isAny(db, READY, lane) || (want.empty && isAny(db, SUSPECT, lane)))
}

/** Inside a write transaction: takes the next items of these lanes for this session. */
export function claimTasks(
  db: Statements,
  memory: Memory,
  open: readonly Lane[],
  session: number,
  want: Want,
  now: number,
): Claim[] {
  const { lanes } = memory
  promoteDue(db, memory, now)
  const suspect = want.empty ? nextOf(db, memory, SUSPECT, open, want, 1) : []
  const next = suspect.length > 0 ? suspect : nextOf(db, memory, READY, open, want, want.start + want.ahead)
  if (next.length === 0) return []
  const fence = nextFence(db)
  hold(db, next, session, fence, want.start, now)
  lanes.remember(fence, next)
  noteRace(memory, next, want.start)
  return next.map((row, position) => claimOf(db, lanes, row, fence, position < want.start))
}

/** The lanes this worker may take from now: not those of a paused queue. */
export function openLanes(db: Statements, { lanes, queues }: Memory, want: Want): readonly Lane[] {
  const { paused, version } = db
    .sql(`SELECT (SELECT value FROM gleaner_meta WHERE key = 'paused') AS paused,
                 (SELECT value FROM gleaner_meta WHERE key = 'queues') AS version`)
    .get() as { paused: number; version: number }
  if (paused !== 0) return []
  queues.knowing(version)
  const claimable = lanes.claimable(want.able)
  return queues.isAnyPaused ? claimable.filter((lane) => !queues.of(lane.queue).paused) : claimable
}

export function suspectsWaiting(db: Statements, lanes: readonly Lane[]): boolean {
  return lanes.some((lane) => isAny(db, SUSPECT, lane))
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

function isAny(db: Statements, which: string, lane: Lane): boolean {
  return db.sql(`SELECT 1 FROM gleaner_tasks WHERE lane = ? AND ${which} LIMIT 1`).get(lane.id) !== undefined
}

/** The same index serves both ways. */
function inOrder(lastFirst: boolean): string {
  return lastFirst ? 'ORDER BY rank DESC, id DESC' : 'ORDER BY rank, id'
}

/** The next ones for this worker: one of each of its queues in turn, within a queue in its order. */
function nextOf(
  db: Statements,
  { queues, turns }: Memory,
  which: string,
  open: readonly Lane[],
  { able }: Want,
  count: number,
): WaitingRow[] {
  const [only, another] = open
  if (only === undefined) return []
  if (another === undefined) {
    // In order already: it is simply read.
    const order = inOrder(isLastFirst(queues.of(only.queue)))
    const rows = db
      .sql(`SELECT ${WAITING} FROM gleaner_tasks WHERE lane = ? AND ${which} ${order} LIMIT ?`)
      .all(only.id, count) as WaitingRow[]
    if (rows.length > 0) turns.served(able, only.queue)
    return rows
  }
  const lines = turns.of(able).map((queue) => {
    const lanes = open.filter((lane) => lane.queue === queue)
    return lineOf(db, which, lanes, isLastFirst(queues.of(queue)), count)
  })
  const next = inTurn(lines, count)
  if (next.length > 0) turns.served(able, next.at(-1)!.queue)
  return readWaiting(db, next)
}

/** The head of one queue: each of its lanes is in order already, several are merged. */
function lineOf(db: Statements, which: string, lanes: readonly Lane[], lastFirst: boolean, count: number) {
  const heads = lanes.flatMap(({ id, queue }) =>
    (
      db
        .sql(`SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${which} ${inOrder(lastFirst)} LIMIT ?`)
        .all(id, count) as Head[]
    ).map((head) => ({ ...head, queue })),
  )
  if (lanes.length > 1) heads.sort((a, b) => (lastFirst ? byRank(b, a) : byRank(a, b)))
  return heads.slice(0, count)
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

function promoteDue(db: Statements, { lanes, queues }: Memory, now: number): void {
  if (nextDueAt(db) > now) return
  const due = db
    .sql(`SELECT id, lane, priority, run_after FROM gleaner_tasks
          WHERE status = 'scheduled' AND run_after <= ? ORDER BY run_after LIMIT ${PROMOTE_MAX}`)
    .all(now) as { id: number; lane: number; priority: number; run_after: number }[]
  const tally = new Tally()
  queues.knowing()
  for (const { id, lane, priority, run_after } of due) {
    const rank = queues.draw(lanes.get(lane).queue, priority, run_after)
    db.sql(`UPDATE gleaner_tasks SET status = 'queued', rank = ? WHERE id = ?`).run(rank, id)
    tally.add(lane, 'scheduled', -1)
  }
  tally.write(db)
}

/** Who starts at once moves the race on; who is held ahead does when he is started. */
function noteRace({ lanes, queues, runners }: Memory, rows: readonly WaitingRow[], start: number): void {
  if (!queues.isAnyWeighted) return
  const started: Runner[] = []
  for (const [position, { id, lane, rank }] of rows.entries()) {
    const { queue } = lanes.get(lane)
    if (queues.of(queue).strategy !== 'weighted') continue
    const runner = { id: String(id), queue, rank }
    if (position < start) started.push(runner)
    else runners.holdAhead(runner)
  }
  advanceRaces(queues, started)
}

export function advanceRaces(queues: QueueBook, started: readonly Runner[]): void {
  if (started.length === 0) return
  queues.knowing()
  for (const [queue, rank] of furthest(started)) queues.advance(queue, rank)
}

function nextFence(db: Statements): number {
  return db
    .scalar(`UPDATE gleaner_meta SET value = value + 1 WHERE key = 'fence' RETURNING value`)
    .get() as number
}

interface WaitingRow {
  id: number
  lane: number
  rank: number
  input: string | null
  attempts: number
  max_attempts: number
  overrides: string | null
  key: string | null
  created_at: number
  suspect: number
}

const WAITING = 'id, lane, rank, input, attempts, max_attempts, overrides, key, created_at, suspect'

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
