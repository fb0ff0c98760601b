import { LATE_START_MS } from '../../../model/limit.ts'
import { isLastFirst } from '../../../model/rank.ts'
import { isFollower } from '../../follower.ts'
import type { Lane } from '../../lane.ts'
import type { Claim, ClaimRequest } from '../../ports/exchange.ts'
import { userKey } from '../../task-row.ts'
import { virtualTimes, type WeightedEntry } from '../../weighted-entries.ts'
import type { Statements } from '../file/statements.ts'
import { type ClaimScope, isLimited } from '../limits/claim-scope.ts'
import { isAnyKeyReady, keyedSuspect, nextWakeAt, wakeKeys } from '../limits/ready-keys.ts'
import { inOrder, READY } from '../waiting/heads.ts'
import { INPUT_ELSEWHERE } from './enqueue.ts'
import { takesOver } from './held-key.ts'
import { enter, isRated } from './limited-claim.ts'
import type { Memory } from './memory.ts'
import { isAnyReady, isAnySuspect, nextTasks } from './next-tasks.ts'
import type { QueueCache } from './queue-cache.ts'
import { Tally } from './tally.ts'

/** As the index has it. */
const DELAYED = `status IN ('scheduled', 'suspended') AND run_after IS NOT NULL`

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

/** Whether a claim would find anything: a look that takes no lock. */
export function somethingToClaim(
  db: Statements,
  memory: Memory,
  open: ClaimScope,
  want: ClaimRequest,
  now: number,
): boolean {
  if (nextDueAt(db) <= now) return true
  if (isAnyReady(db, open)) return true
  if (open.keyed && (nextWakeAt(db) <= now || isAnyKeyReady(db, open))) return true
  return want.empty && suspectsWaiting(db, memory, open, now)
}

/** Inside a write transaction: takes the next items of these lanes for this session. */
export function claimTasks(
  db: Statements,
  memory: Memory,
  open: ClaimScope,
  session: number,
  want: ClaimRequest,
  now: number,
): Claim[] {
  const { lanes } = memory
  promoteDue(db, memory, now)
  if (open.keyed) wakeKeys(db, now)
  const only = onlyLane(db, open, want)
  const candidates = only === null ? nextTasks(db, memory, open, want, now) : []
  const next = only === null ? readWaiting(db, candidates) : readLane(db, memory, only, want)
  if (next.length === 0) return []
  const fence = nextFence(db)
  hold(db, next, session, fence, want.start, now)
  if (isLimited(open)) enter(db, open, candidates, { fence, start: want.start, now })
  lanes.remember(fence, next)
  noteRace(memory, open, next, want.start)
  const keyed = new Map(candidates.flatMap(({ lane, base }) => (lane === undefined ? [] : [[lane, base]])))
  return next.map((row, position) => {
    const lane = keyed.get(row.lane) ?? lanes.get(row.lane)
    const claim = claimOf(db, lane, row, fence, position < want.start)
    const isLate = !claim.started && only === null && isRated(open, candidates[position]!)
    return isLate ? { ...claim, startWithinMs: LATE_START_MS } : claim
  })
}

/** Those whom no limit keeps back: others must not wait for them. */
export function suspectsWaiting(db: Statements, { lanes }: Memory, open: ClaimScope, now: number): boolean {
  return isAnySuspect(db, open) || (open.keyed && keyedSuspect(db, lanes.limits, open, now) !== null)
}

/** Infinity when nothing is scheduled, and nothing suspended has a time-out. */
export function nextDueAt(db: Statements): number {
  const at = db.scalar(`SELECT min(run_after) FROM gleaner_tasks WHERE ${DELAYED}`).get()
  return (at as number | null) ?? Number.POSITIVE_INFINITY
}

/** Most claims have one lane to read: it is in order already. */
function onlyLane(db: Statements, open: ClaimScope, want: ClaimRequest): Lane | null {
  if (
    open.lanes.ids.length !== 1 ||
    isLimited(open) ||
    open.orders !== undefined ||
    (want.empty && isAnySuspect(db, open))
  )
    return null
  const only = open.lanes.lane(open.lanes.ids[0]!)!
  return open.pausedQueues.has(only.queue) ? null : only
}

function readLane(
  db: Statements,
  { queues, turns }: Memory,
  { id, queue }: Lane,
  { able, start, ahead }: ClaimRequest,
): WaitingRow[] {
  const order = inOrder(isLastFirst(queues.of(queue)))
  const rows = db
    .sql(`SELECT ${WAITING} FROM gleaner_tasks WHERE lane = ? AND ${READY} ${order} LIMIT ?`)
    .all(id, start + ahead) as WaitingRow[]
  if (rows.length > 0) turns.served(able, queue)
  return rows
}

function readWaiting(db: Statements, next: readonly { id: number }[]): WaitingRow[] {
  const rows = db
    .sql(`SELECT ${WAITING} FROM gleaner_tasks WHERE id IN (SELECT value FROM json_each(?))`)
    .all(idList(next)) as WaitingRow[]
  const byId = new Map(rows.map((row) => [row.id, row]))
  return next.map(({ id }) => byId.get(id)!)
}

function idList(rows: readonly { id: number }[]): string {
  return JSON.stringify(rows.map((row) => row.id))
}

interface DueRow {
  id: number
  lane: number
  priority: number
  run_after: number
  key: string | null
  status: 'scheduled' | 'suspended'
  leads: number | null
}

function promoteDue(db: Statements, { lanes, queues }: Memory, now: number): void {
  if (nextDueAt(db) > now) return
  const due = db
    .sql(`SELECT id, lane, priority, run_after, key, status, leads FROM gleaner_tasks
          WHERE ${DELAYED} AND run_after <= ? ORDER BY run_after LIMIT ${PROMOTE_MAX}`)
    .all(now) as DueRow[]
  const tally = new Tally()
  queues.knowing()
  for (const { id, lane, priority, run_after, key, status, leads } of due) {
    if (status === 'scheduled' && isFollower(key) && !takesOver(db, id, key, now)) continue
    const rank = queues.draw(lanes.get(lane).queue, priority, run_after)
    db.sql(`UPDATE gleaner_tasks SET status = 'queued', rank = ? WHERE id = ?`).run(rank, id)
    if (status === 'suspended') db.sql('DELETE FROM gleaner_waits WHERE item = ?').run(String(id))
    // Outside of what claims read, until it is its turn.
    if (leads === 0) db.sql('UPDATE gleaner_tasks SET suspect = 2 WHERE id = ?').run(id)
    tally.add(lane, status, -1)
    tally.arrived(lane)
  }
  tally.write(db)
}

/** Who starts at once moves the race on; who is held ahead does when he is started. */
function noteRace(
  { lanes, queues, weightedEntries }: Memory,
  { orders }: ClaimScope,
  rows: readonly WaitingRow[],
  start: number,
): void {
  if (!queues.isAnyWeighted) return
  const started: WeightedEntry[] = []
  for (const [position, { id, lane, rank }] of rows.entries()) {
    const { queue } = lanes.get(lane)
    // One that was taken out of turn says nothing of how far the race has come.
    if (queues.of(queue).strategy !== 'weighted' || orders?.queues.has(queue)) continue
    const entry = { id: String(id), queue, rank }
    if (position < start) started.push(entry)
    else weightedEntries.holdAhead(entry)
  }
  advanceVirtualTimes(queues, started)
}

export function advanceVirtualTimes(queues: QueueCache, started: readonly WeightedEntry[]): void {
  if (started.length === 0) return
  queues.knowing()
  for (const [queue, rank] of virtualTimes(started)) queues.advance(queue, rank)
}

/** More claims than a power cut can lose: far fewer fit into the log before it is synced. */
const FENCES_LOST_MAX = 2 ** 24

/**
 * Claims are not synced, so a power cut takes the last fences back. It ends every session as well: a new one begins where no
 * fence was ever given out.
 */
export function reserveFences(db: Statements): void {
  db.sql(`UPDATE gleaner_meta SET value = value + ${FENCES_LOST_MAX} WHERE key = 'fence'`).run()
}

export function nextFence(db: Statements): number {
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
  order_key: string | null
}

const WAITING =
  'id, lane, rank, input, attempts, max_attempts, overrides, key, created_at, suspect, order_key'

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

function claimOf(db: Statements, lane: Lane, row: WaitingRow, fence: number, started: boolean): Claim {
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

function inputOf(db: Statements, id: number, input: string | null): string | null {
  if (input !== INPUT_ELSEWHERE) return input
  return db.scalar('SELECT input FROM gleaner_inputs WHERE task = ?').get(id) as string
}
