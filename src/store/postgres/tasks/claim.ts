import { LATE_START_MS } from '../../../model/limit.ts'
import { FOLLOW_MS, IS_FOLLOWER } from '../../follower.ts'
import type { Lane } from '../../lane.ts'
import type { Claim, ClaimRequest } from '../../ports/exchange.ts'
import { userKey } from '../../task-row.ts'
import type { WeightedEntry } from '../../weighted-entries.ts'
import type { Sql } from '../server/sql.ts'
import { READY, SUSPECT } from '../waiting/conditions.ts'
import { type ClaimScope, claimWithinLimits, type LimitedClaim, unlimited } from './limited-claim.ts'
import type { WalkedPath } from './low-water.ts'
import type { Memory } from './memory.ts'
import type { OpenLanes } from './open-lanes.ts'
import { readOrderOutbox } from './order-outbox.ts'
import { lanesOf } from './peek.ts'
import type { TaskPreconditions } from './preconditions.ts'
import type { Newcomer } from './queue-cache.ts'
import {
  type ClaimRoute,
  claimRouteOf,
  isWhole,
  noteTurn,
  placesOf,
  routeThrough,
  wholeRoute,
} from './route.ts'
import { type ClaimedTaskRow, type Claimer, suspectsBut, type TakeRequest, take } from './take.ts'
import { Tally } from './tally.ts'
import { advanceVirtualTimes } from './virtual-times.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

/** In a transaction: takes the next items of these lanes for this session. */
export async function claimTasks(
  sql: Sql,
  memory: Memory,
  outlook: TaskPreconditions,
  session: string,
  want: ClaimRequest,
  now: number,
): Promise<{ claims: Claim[]; opening: ClaimScope; hasFreedOrders: boolean }> {
  const { open, dueAt, limited } = outlook
  const hasFreedOrders = outlook.hasFreedOrders && (await readOrderOutbox(sql, limited))
  const due = dueAt !== null && dueAt <= now
  if (due) await promoteDue(sql, memory, limited, now)
  if (open.lanes.length === 0) return { claims: [], opening: unlimited(open), hasFreedOrders }
  // What has become due may be a suspect.
  const alone = want.empty && (outlook.suspects || due || outlook.hasFreedOrders)
  const { orders } = want.able
  const { rows, laneOf, opening } =
    limited || orders !== undefined
      ? await claimWithinLimits(sql, memory, outlook, alone, { session, want, now })
      : await claimUnlimited(sql, memory, outlook, alone, { session, want, now })
  noteTurn(
    memory,
    want,
    open,
    rows.map(({ lane }) => laneOf(lane)),
  )
  // One that was taken out of turn says nothing of how far the race has come.
  const inTurn = rows.filter(({ lane }) => !orders?.queues.has(laneOf(lane).queue))
  await advanceVirtualTimes(sql, memory.queues, session, startedOf(memory, inTurn, laneOf))
  return { claims: rows.map((row) => claimOf(laneOf(row.lane), row)), opening, hasFreedOrders }
}

async function claimUnlimited(
  sql: Sql,
  memory: Memory,
  outlook: TaskPreconditions,
  alone: boolean,
  who: Claimer,
): Promise<LimitedClaim> {
  const { open } = outlook
  const suspects = alone ? await takeSuspect(sql, memory, open, who) : []
  const rows = suspects.length > 0 ? suspects : await takeReady(sql, memory, outlook, who)
  return { rows, laneOf: (id) => open.lane(id)!, opening: unlimited(open) }
}

async function takeSuspect(
  sql: Sql,
  memory: Memory,
  open: OpenLanes,
  who: Claimer,
): Promise<ClaimedTaskRow[]> {
  const lanes = await lanesOf(sql, SUSPECT, open)
  if (lanes.size === 0) return []
  const route = routeThrough(memory, who.want, open, lanes)
  return take(sql, suspectsBut(who.want.avoid), route, who, 1)
}

async function takeReady(
  sql: Sql,
  memory: Memory,
  { open, entriesBefore }: TaskPreconditions,
  asked: TakeRequest,
): Promise<ClaimedTaskRow[]> {
  const { want } = asked
  const along = async (route: ClaimRoute) => {
    const taken = await take(sql, READY, route, asked, want.start + want.ahead)
    memory.lowWater.walked(route.path, walkOf(open, route, taken, entriesBefore))
    return taken
  }
  const route = claimRouteOf(memory, want, open)
  const rows = await along(route)
  if (rows.length > 0 || isWhole(route)) return rows
  if (open.areFew) return want.thorough ? along(wholeRoute(memory, want, open)) : rows
  const lanes = await lanesOf(sql, READY, open)
  return lanes.size === 0 ? [] : along(routeThrough(memory, want, open, placesOf(open, lanes)))
}

/** What a claim came upon, by the lanes and lines that it read. */
export function walkOf(
  open: OpenLanes,
  { path }: ClaimRoute,
  rows: readonly ClaimedTaskRow[],
  entriesBefore: number,
): WalkedPath {
  const read = new Set(path.lanes)
  const taken = rows.map(({ lane, rank }) => ({
    lane: read.has(lane) ? lane : -open.lane(lane)!.line!,
    rank,
  }))
  return { entries: (rows[0]?.entries ?? entriesBefore) - entriesBefore, taken }
}

/** Of weighted queues those that start at once, which moves the race on. One that is prefetched does when it is started. */
export function startedOf(
  { queues, weightedEntries }: Memory,
  rows: readonly ClaimedTaskRow[],
  laneOf: (lane: number) => Lane,
): WeightedEntry[] {
  const started: WeightedEntry[] = []
  for (const { id, lane, rank, started: begun } of rows) {
    const { queue } = laneOf(lane)
    if (!queues.isWeighted(queue)) continue
    const entry = { id: String(id), queue, rank }
    if (begun) started.push(entry)
    else weightedEntries.holdAhead(entry)
  }
  return started
}

/** A follower, and the one before it has not ended. */
const WAITS_FOR_KEY = `CASE WHEN ${IS_FOLLOWER} THEN EXISTS (
  SELECT 1 FROM gleaner.tasks before WHERE before.active_key = tasks.key) ELSE false END`

async function waitLonger(sql: Sql, found: readonly { id: number; waits: boolean }[], now: number) {
  const ids = found.filter(({ waits }) => waits).map(({ id }) => id)
  await sql.run('UPDATE gleaner.tasks SET run_after = $2 WHERE id = ANY($1)', [ids, now + FOLLOW_MS])
}

/** Statuses of tasks that become due. */
type Delayed = 'scheduled' | 'suspended'

async function promoteDue(sql: Sql, { lanes, queues }: Memory, limited: boolean, now: number): Promise<void> {
  type Due = {
    id: number
    lane: number
    priority: number
    run_after: number
    waits: boolean
    status: Delayed
  }
  const found = await sql.rows<Due>(
    `SELECT id, lane, priority, run_after, status, ${WAITS_FOR_KEY} AS waits FROM gleaner.tasks
     WHERE delayed AND run_after <= $1
     ORDER BY run_after LIMIT ${PROMOTE_MAX} FOR UPDATE SKIP LOCKED`,
    [now],
  )
  const due = found.filter(({ waits }) => !waits)
  if (due.length < found.length) await waitLonger(sql, found, now)
  if (due.length === 0) return
  const tally = new Tally()
  const newcomers: Newcomer[] = []
  for (const { lane, priority, run_after, status } of due) {
    newcomers.push({ queue: (await lanes.get(lane, sql)).queue, priority, queuedAtMs: run_after })
    tally.add(lane, status, -1)
    tally.slots.arrived(lane)
  }
  await sql.run(
    `UPDATE gleaner.tasks SET status = 'queued', in_line = leads IS NOT FALSE, delayed = false, active_key = key, rank = given.rank
     FROM unnest($1::bigint[], $2::bigint[]) given(id, rank) WHERE tasks.id = given.id`,
    [due.map(({ id }) => id), await queues.drawAll(sql, newcomers)],
  )
  const timedOut = due.filter(({ status }) => status === 'suspended').map(({ id }) => String(id))
  if (timedOut.length > 0) await sql.run('DELETE FROM gleaner.waits WHERE item = ANY($1)', [timedOut])
  await tally.write(sql)
  if (limited) await tally.slots.write(sql)
}

export function claimOf(lane: Lane, row: ClaimedTaskRow): Claim {
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
    started: row.started,
    suspect: row.suspect,
    ...(row.isRated && { startWithinMs: LATE_START_MS }),
  }
}
