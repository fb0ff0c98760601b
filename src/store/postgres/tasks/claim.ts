import { FOLLOW_MS, IS_FOLLOWER } from '../../follower.ts'
import type { Lane } from '../../lane.ts'
import type { Claim, Want } from '../../ports/exchange.ts'
import type { Runner } from '../../runners.ts'
import { userKey } from '../../task-row.ts'
import { claimWithinLimits, type LimitedClaim, type Opening, unlimited } from '../limits/limited-claim.ts'
import type { Memory } from '../memory.ts'
import type { Newcomer, QueueBook } from '../order/queue-book.ts'
import { advanceRaces } from '../order/races.ts'
import type { Sql } from '../server/sql.ts'
import { type LowWater, type Path, type Way, wholePath } from './low-water.ts'
import type { Outlook } from './outlook.ts'
import {
  type Asked,
  type Claimer,
  ENTRIES_READ,
  READY,
  SUSPECT,
  suspectsBut,
  type TakenRow,
  take,
} from './take.ts'
import { Tally } from './tally.ts'

/** Due tasks that one claim moves to their lanes; the next claim goes on. */
const PROMOTE_MAX = 1_000

/** What waits. Infinity: nothing is scheduled. */
export interface Ahead {
  ready: boolean
  suspects: boolean
  nextDueAt: number
}

/** Without a lock. */
export async function lookAhead(
  sql: Sql,
  { queues, lowWater }: Memory,
  open: readonly Lane[],
  thorough = false,
): Promise<Ahead> {
  const ways = waysOf(queues, open)
  const path = lowWater.pathOf(ways)
  const ahead = await look(sql, path, lowWater)
  return ahead.ready || path.whole || !thorough ? ahead : look(sql, wholePath(ways), lowWater)
}

export function waysOf(queues: QueueBook, open: readonly Lane[]): Way[] {
  return open.map((lane) => ({ lane: lane.id, lastFirst: queues.isLastFirst(lane.queue) }))
}

async function look(sql: Sql, path: Path, lowWater: LowWater): Promise<Ahead> {
  type Row = { before: number; ready: boolean; suspects: boolean; due: number | null; after: number }
  const row = await sql.row<Row>(
    `SELECT ${ENTRIES_READ} AS before,
            EXISTS (SELECT 1 FROM unnest($1::int[], $2::bigint[], $3::bigint[]) l(lane, low, high), LATERAL (
              SELECT 1 FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${READY} AND rank >= l.low AND rank < l.high
              LIMIT 1) t) AS ready,
            EXISTS (SELECT 1 FROM gleaner.tasks WHERE lane = ANY($1) AND ${SUSPECT}) AS suspects,
            (SELECT pg_catalog.min(run_after) FROM gleaner.tasks WHERE delayed) AS due,
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
  memory: Memory,
  outlook: Outlook,
  session: string,
  want: Want,
  now: number,
): Promise<{ claims: Claim[]; opening: Opening }> {
  const { open, dueAt, limited } = outlook
  const due = dueAt !== null && dueAt <= now
  if (due) await promoteDue(sql, memory, limited, now)
  if (open.length === 0) return { claims: [], opening: unlimited(open) }
  // What has become due may be a suspect.
  const alone = want.empty && (outlook.suspects || due)
  const { rows, laneOf, opening } = limited
    ? await claimWithinLimits(sql, memory, open, alone, { session, want, now })
    : await claimUnlimited(sql, memory, outlook, alone, { session, want, now })
  const last = rows.at(-1)
  if (last !== undefined) memory.turns.served(want.able, laneOf.get(last.lane)!.queue)
  await noteRace(sql, memory, session, rows, laneOf)
  return { claims: rows.map((row) => claimOf(laneOf.get(row.lane)!, row)), opening }
}

async function claimUnlimited(
  sql: Sql,
  memory: Memory,
  outlook: Outlook,
  alone: boolean,
  who: Claimer,
): Promise<LimitedClaim> {
  const { open } = outlook
  const asked = { ...who, turns: turnsOf(memory, who.want, open) }
  const whole = wholePath(waysOf(memory.queues, open))
  const suspects = alone ? await take(sql, suspectsBut(asked.want.avoid), whole, asked, 1) : []
  const rows = suspects.length > 0 ? suspects : await takeReady(sql, memory, outlook, asked)
  return { rows, laneOf: new Map(open.map((lane) => [lane.id, lane])), opening: unlimited(open) }
}

/** One of each queue in turn. */
export function turnsOf({ turns }: Memory, { able }: Want, open: readonly Lane[]): Map<number, number> {
  const order = new Map([...turns.of(able)].map((queue, turn) => [queue, turn]))
  return new Map(open.map((lane) => [lane.id, order.get(lane.queue)!]))
}

async function takeReady(
  sql: Sql,
  { queues, lowWater }: Memory,
  { open, entriesBefore }: Outlook,
  asked: Asked,
): Promise<TakenRow[]> {
  const { want } = asked
  const ways = waysOf(queues, open)
  const along = async (path: Path) => {
    const taken = await take(sql, READY, path, asked, want.start + want.ahead)
    lowWater.walked(path, { entries: (taken[0]?.entries ?? entriesBefore) - entriesBefore, taken })
    return taken
  }
  const path = lowWater.pathOf(ways)
  const rows = await along(path)
  return rows.length > 0 || path.whole || !want.thorough ? rows : along(wholePath(ways))
}

/** Who starts at once moves the race of a weighted queue on; who is held ahead does when he is started. */
async function noteRace(
  sql: Sql,
  { queues, runners }: Memory,
  session: string,
  rows: readonly TakenRow[],
  laneOf: ReadonlyMap<number, Lane>,
): Promise<void> {
  const started: Runner[] = []
  for (const { id, lane, rank, started: begun } of rows) {
    const { queue } = laneOf.get(lane)!
    if (!queues.isWeighted(queue)) continue
    const runner = { id: String(id), queue, rank }
    if (begun) started.push(runner)
    else runners.holdAhead(runner)
  }
  await advanceRaces(sql, queues, session, started)
}

/** A follower, and the one before it has not ended. */
const WAITS_FOR_KEY = `CASE WHEN ${IS_FOLLOWER} THEN EXISTS (
  SELECT 1 FROM gleaner.tasks before WHERE before.active_key = tasks.key) ELSE false END`

async function waitLonger(sql: Sql, found: readonly { id: number; waits: boolean }[], now: number) {
  const ids = found.filter(({ waits }) => waits).map(({ id }) => id)
  await sql.run('UPDATE gleaner.tasks SET run_after = $2 WHERE id = ANY($1)', [ids, now + FOLLOW_MS])
}

async function promoteDue(sql: Sql, { lanes, queues }: Memory, limited: boolean, now: number): Promise<void> {
  type Due = { id: number; lane: number; priority: number; run_after: number; waits: boolean }
  const found = await sql.rows<Due>(
    `SELECT id, lane, priority, run_after, ${WAITS_FOR_KEY} AS waits FROM gleaner.tasks
     WHERE delayed AND run_after <= $1
     ORDER BY run_after LIMIT ${PROMOTE_MAX} FOR UPDATE SKIP LOCKED`,
    [now],
  )
  const due = found.filter(({ waits }) => !waits)
  if (due.length < found.length) await waitLonger(sql, found, now)
  if (due.length === 0) return
  const tally = new Tally()
  const newcomers: Newcomer[] = []
  for (const { lane, priority, run_after } of due) {
    newcomers.push({ queue: (await lanes.get(lane, sql)).queue, priority, queuedAtMs: run_after })
    tally.add(lane, 'scheduled', -1)
    tally.slots.arrived(lane)
  }
  await sql.run(
    `UPDATE gleaner.tasks SET status = 'queued', in_line = true, delayed = false, active_key = key, rank = given.rank
     FROM unnest($1::bigint[], $2::bigint[]) given(id, rank) WHERE tasks.id = given.id`,
    [due.map(({ id }) => id), await queues.drawAll(sql, newcomers)],
  )
  await tally.write(sql)
  if (limited) await tally.slots.write(sql)
}

export function claimOf(lane: Lane, row: TakenRow): Claim {
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
  }
}
