import type { Lane } from '../../lane.ts'
import { enterAll, type LimitCounter } from '../../limit-counter.ts'
import { byRank, oneLine, startWithinLimits } from '../../lines.ts'
import { hasChosenOrder } from '../../scripts/chosen-heads.ts'
import { inTurn, shareOf } from '../../turns.ts'
import { type LimitCache, lockQueueCounters, shutQueues, writeCounters } from '../limits/counters.ts'
import {
  keysInTurn,
  keysWithSuspects,
  passKeys,
  peekReadyKeys,
  type ReadyKey,
  refreshReadyKeys,
} from '../limits/ready-keys.ts'
import type { Sql } from '../server/sql.ts'
import { READY } from '../waiting/conditions.ts'
import { headsInChosenOrder } from './chosen-heads.ts'
import type { Memory } from './memory.ts'
import type { OpenLanes } from './open-lanes.ts'
import type { TaskPreconditions } from './preconditions.ts'
import { type ClaimedTaskRow, type Claimer, suspectsBut } from './take.ts'

/** What limits leave of where a worker may take from. */
export interface ClaimScope {
  lanes: OpenLanes
  /** When a limit lets something through that it does not now. Infinity: not by itself. */
  opensAt: number
  /** Somebody else is just taking from what we may take from: he may leave some of it. */
  contended: boolean
  /** Keys are left that the claim has not looked at: it looks at a bounded number. */
  isPart: boolean
}

/** Where nothing is limited. */
export function unlimited(lanes: OpenLanes): ClaimScope {
  return { lanes, opensAt: Number.POSITIVE_INFINITY, contended: false, isPart: false }
}

export interface LimitedClaim {
  rows: ClaimedTaskRow[]
  /** By the lane that is in their row. */
  laneOf: (lane: number) => Lane
  opening: ClaimScope
}

/** A waiting task whose row is locked. */
interface Candidate {
  place: string
  id: number
  rank: number
  base: Lane
  key: ReadyKey | null
}

/** Where to look for some: a lane, or the lane of a key. */
interface Source {
  lane: number
  most: number
  base: Lane
  key: ReadyKey | null
}

type Queues = ReadonlyMap<string, LimitCounter>

/**
 * In a transaction: takes the next items as far as the limits of their queues and keys go. Their gates are locked until its
 * end; what somebody else has locked is passed over, so that nobody waits for anybody.
 */
export async function claimWithinLimits(
  sql: Sql,
  memory: Memory,
  { open, keyed }: TaskPreconditions,
  alone: boolean,
  { now, ...who }: Claimer,
): Promise<LimitedClaim> {
  const { limits } = memory.lanes
  const limited = limits.limitedAmong(open.queues.keys())
  const [, queues] = await Promise.all([
    refreshReadyKeys(sql, now),
    lockQueueCounters(sql, limits, limited, now),
  ])
  const asked = { ...who, now }
  const shut = limited.filter((queue) => (queues.get(queue)?.room(now) ?? 0) === 0)
  const lanes = open.without(new Set(shut))

  const suspect = alone ? await firstSuspect(sql, limits, lanes.lanes, asked) : []
  const next =
    suspect.length > 0 ? suspect : await nextWithinLimits(sql, memory, lanes, queues, asked, keyed > 0)
  const entered = enter(next, queues, asked)
  const full = [...queues].filter(([, gate]) => gate.room(now) === 0).map(([queue]) => queue)
  const stillOpen = lanes.without(new Set(full))
  const [rows, , , { wakeAt, ready, changed }] = await Promise.all([
    next.length === 0 ? [] : hold(sql, next, asked),
    writeCounters(sql, entered.gates),
    passKeys(sql, entered.keys, now),
    peekReadyKeys(sql, stillOpen.lanes),
  ])
  const opensAt = [...queues.values()].map((gate) => gate.admission(now).opensAt ?? Number.POSITIVE_INFINITY)
  const baseOf = new Map(next.map(({ base, key }) => [key?.lane ?? base.id, base]))
  const isRated = (one: Candidate) => limitsOf(queues, one).some((gate) => gate.isRate)
  return {
    rows: rows.map((row) => ({ ...row, isRated: !row.started && isRated(next[row.position - 1]!) })),
    laneOf: (lane) => baseOf.get(lane)!,
    opening: {
      lanes: stillOpen,
      opensAt: Math.min(wakeAt, ...opensAt),
      contended: ready || changed || queues.size < limited.length,
      isPart: ready || changed,
    },
  }
}

async function firstSuspect(
  sql: Sql,
  limits: LimitCache,
  lanes: readonly Lane[],
  { want, now }: Claimer,
): Promise<Candidate[]> {
  const keys = await keysWithSuspects(sql, limits, lanes, now, { locked: true })
  const sources = [...lanes.map((base) => plain(base, 1)), ...keys.map((key) => keyed(key, 1))]
  return (await lockHeads(sql, suspectsBut(want.avoid), false, sources)).slice(0, 1)
}

/** One of each queue in turn; within a queue in its order, and one of each key in turn. */
async function nextWithinLimits(
  sql: Sql,
  { lanes: { limits }, queues: book, turns }: Memory,
  open: OpenLanes,
  queues: Queues,
  { want, now }: Claimer,
  areKeyed: boolean,
): Promise<Candidate[]> {
  const byQueue = Map.groupBy(open.lanes, ({ queue }) => queue)
  // All at once: each would take a round trip of its own.
  const lines = await Promise.all(
    turns.among(want.able, byQueue.keys()).map(async (queue) => {
      const ofQueue = byQueue.get(queue)!
      const room = queues.get(queue)?.room(now) ?? Number.POSITIVE_INFINITY
      const count = Math.min(room, want.start + want.ahead)
      const keyedOf = async (lastFirst: boolean) => {
        if (!areKeyed) return []
        const share = limits.shares.of(queue, shareOf(want))
        const heads = await keyedHeads(sql, limits, ofQueue, { lastFirst, count, share }, now)
        limits.shares.gave(queue, heads.length >= count)
        return heads
      }
      if (hasChosenOrder(want.able.orders, queue, ofQueue)) {
        return headsInChosenOrder(
          sql,
          book,
          { queue, lanes: ofQueue, count, orders: want.able.orders },
          keyedOf,
        )
      }
      const lastFirst = book.isLastFirst(queue)
      const sources = ofQueue.map((base) => plain(base, count))
      const [withoutKey, withKey] = await Promise.all([
        lockHeads(sql, READY, lastFirst, sources),
        keyedOf(lastFirst),
      ])
      return oneLine(withoutKey, withKey, lastFirst).slice(0, count)
    }),
  )
  return startWithinLimits(lines, want, (one) => limitsOf(queues, one), now)
}

/** The next tasks of those keys whose turn it is, in the order of turns. */
async function keyedHeads(
  sql: Sql,
  limits: LimitCache,
  bases: readonly Lane[],
  { lastFirst, count, share: atLeast }: { lastFirst: boolean; count: number; share: number },
  now: number,
): Promise<Candidate[]> {
  const keys = await keysInTurn(sql, limits, bases, Math.ceil(count / atLeast), now)
  if (keys.length === 0) return []
  const share = Math.ceil(count / keys.length)
  const room = ({ gate }: ReadyKey) => gate.admission(now).room
  const read = (among: readonly ReadyKey[], most: number) =>
    lockHeads(
      sql,
      READY,
      lastFirst,
      among.map((key) => keyed(key, Math.min(most, room(key)))),
    )
  const heads = await read(keys, share)
  // Those with more have what others left of their share.
  const byKey = Map.groupBy(heads, ({ key }) => key!)
  const withMore = keys.filter((one) => byKey.get(one)?.length === share)
  const left = count - heads.length
  const more = left > 0 && withMore.length > 0 ? await read(withMore, share + left) : []
  const known = new Set(heads.map(({ id }) => id))
  for (const one of more) if (!known.has(one.id)) byKey.get(one.key!)!.push(one)
  const lines = keys.flatMap((one) => [byKey.get(one) ?? []])
  return withinKeys(inTurn(lines, count), now)
}

/** Lanes of the same key with other requirements share its limit. */
function withinKeys(heads: readonly Candidate[], now: number): Candidate[] {
  return heads.filter(({ key }) => {
    const fits = key!.gate.room(now) > 0
    if (fits) key!.gate.promised += 1
    return fits
  })
}

/** They are claimed: their limits count them from now on. */
function enter(
  next: readonly Candidate[],
  queues: Queues,
  { want, now }: Claimer,
): { gates: LimitCounter[]; keys: ReadyKey[] } {
  const gates = enterAll(
    next.map((one) => limitsOf(queues, one)),
    want.start,
    now,
  )
  const keys = new Map(next.flatMap(({ key }) => (key === null ? [] : [[key.lane, key]])))
  return { gates, keys: [...keys.values()] }
}

/** The limits of its queue and of its key. */
function limitsOf(queues: Queues, { base, key }: Candidate): LimitCounter[] {
  return [queues.get(base.queue), key?.gate].filter((gate) => gate !== undefined)
}

async function hold(
  sql: Sql,
  next: readonly Candidate[],
  { session, want, now }: Claimer,
): Promise<ClaimedTaskRow[]> {
  const rows = await sql.rows<ClaimedTaskRow>(
    `WITH fence AS MATERIALIZED (SELECT pg_catalog.nextval('gleaner.fence') AS value), batch AS (
       INSERT INTO gleaner.batches (fence, session, tasks) SELECT value, $1, $5::bigint[] FROM fence
     )
     UPDATE gleaner.tasks SET session = $1, fence = fence.value, attempts = attempts + 1, in_line = false,
       status = CASE WHEN next.position <= $2 THEN 'running' ELSE status END,
       started_at = CASE WHEN next.position <= $2 THEN $3 ELSE started_at END
     FROM pg_catalog.unnest($4::tid[]) WITH ORDINALITY next(place, position), fence WHERE tasks.ctid = next.place
     RETURNING tasks.id, tasks.fence, rank, lane, input, attempts, max_attempts, overrides, key, created_at, suspect,
       next.position <= $2 AS started, 0 AS entries, next.position`,
    [session, want.start, now, next.map(({ place }) => place), next.map(({ id }) => id)],
  )
  return rows.sort((a, b) => a.position - b.position)
}

function plain(base: Lane, most: number): Source {
  return { lane: base.id, most, base, key: null }
}

function keyed(key: ReadyKey, most: number): Source {
  return { lane: key.lane, most, base: key.base, key }
}

/** What somebody else has just locked is passed over. */
async function lockHeads(
  sql: Sql,
  which: string,
  lastFirst: boolean,
  sources: readonly Source[],
): Promise<Candidate[]> {
  const down = lastFirst ? 'DESC' : ''
  const rows = await sql.rows<{ place: string; id: number; rank: number; lane: number }>(
    `SELECT t.ctid::text AS place, t.id, t.rank, l.lane FROM unnest($1::int[], $2::int[]) l(lane, most), LATERAL (
       SELECT ctid, id, rank FROM gleaner.tasks WHERE tasks.lane = l.lane AND ${which}
       ORDER BY rank ${down}, id ${down} LIMIT l.most FOR UPDATE SKIP LOCKED) t`,
    [sources.map(({ lane }) => lane), sources.map(({ most }) => most)],
  )
  const sourceOf = new Map(sources.map((source) => [source.lane, source]))
  return rows
    .map(({ lane, ...row }) => {
      const { base, key } = sourceOf.get(lane)!
      return { ...row, base, key }
    })
    .sort(byRank(lastFirst))
}

/** Without a lock: what limits leave, and whether that is worth a transaction. */
export async function peekWithinLimits(
  sql: Sql,
  limits: LimitCache,
  open: OpenLanes,
  now: number,
): Promise<ClaimScope & { worthIt: boolean }> {
  const limited = limits.limitedAmong(open.queues.keys())
  const { shut, opensAt } = await shutQueues(sql, limits, limited, now)
  const lanes = open.without(shut)
  const { ready, changed, wakeAt } = await peekReadyKeys(sql, lanes.lanes)
  const worthIt = ready || changed || wakeAt <= now
  return { lanes, opensAt: Math.min(opensAt, wakeAt), contended: false, isPart: false, worthIt }
}

/** Whether there are suspects among what has a key, and may run. */
export async function suspectsAmongKeys(
  sql: Sql,
  { lanes }: Memory,
  { limited, suspects }: { limited: boolean; suspects: boolean },
  opening: ClaimScope,
  now: number,
): Promise<boolean> {
  if (!limited || !suspects) return false
  return (await keysWithSuspects(sql, lanes.limits, opening.lanes.lanes, now, { locked: false })).length > 0
}
