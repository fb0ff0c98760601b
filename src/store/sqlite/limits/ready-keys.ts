import type { ClaimableLanes } from '../../claimable.ts'
import type { Lane } from '../../lane.ts'
import { LimitCounter, type LimitCounterRow } from '../../limit-counter.ts'
import { IDLE_KEY_MS, TURNS_MAX } from '../../limit-row.ts'
import { inTurn } from '../../turns.ts'
import type { Statements } from '../file/statements.ts'
import { inOrder, READY, SUSPECT } from '../waiting/heads.ts'
import { nonEmpty, READY_KEYS } from '../waiting/non-empty.ts'
import { type ClaimScope, isOpen } from './claim-scope.ts'
import { counterById, type LimitCache } from './counters.ts'

/** A waiting task that its key's limit lets through. */
export interface KeyedHead {
  id: number
  rank: number
  queue: string
  base: Lane
  lane: number
  gate: LimitCounter
}

/** The turnstile of a key that may be served now. */
interface Turnstile {
  lane: number
  turn: number
  base: Lane
  gate: LimitCounter
  first: KeyedHead
}

/** A key that may be served, with its limit and the first task that waits; `task` is null: none does. */
type KeyRow = LimitCounterRow & { lane: number; turn: number; rank: number; task: number | null }

/** Something waits in these lanes with a key: their turn comes after those that wait already. */
export function arrive(db: Statements, lanes: readonly number[]): void {
  db.sql(`UPDATE gleaner_turnstiles SET ready = 1, wake_at = NULL,
            turn = max(turn, (SELECT value FROM gleaner_meta WHERE key = 'fence'))
          WHERE lane IN (SELECT value FROM json_each(?)) AND ready = 0`).run(JSON.stringify(lanes))
}

/** Infinity: no key rests. */
export function nextWakeAt(db: Statements): number {
  const at = db.scalar('SELECT min(wake_at) FROM gleaner_turnstiles WHERE wake_at IS NOT NULL').get()
  return (at as number | null) ?? Number.POSITIVE_INFINITY
}

/** The queues of these lanes that have keys which may have something to give. */
export function* queuesWithKeys(db: Statements, lanes: ClaimableLanes): Generator<string> {
  for (const base of nonEmpty(db, READY_KEYS, lanes.ids)) yield lanes.queueOf(base)
}

export function isAnyKeyReady(db: Statements, open: ClaimScope): boolean {
  for (const queue of queuesWithKeys(db, open.lanes)) if (isOpen(open, queue)) return true
  return false
}

/** Those whose rate lets them through again, and those that nobody has used for long. */
export function wakeKeys(db: Statements, now: number): void {
  if (nextWakeAt(db) > now) return
  db.sql(`UPDATE gleaner_turnstiles SET ready = 1, wake_at = NULL WHERE lane IN (
            SELECT lane FROM gleaner_turnstiles WHERE wake_at <= ? ORDER BY wake_at LIMIT ${TURNS_MAX})`).run(
    now,
  )
}

/** In which order a queue is read, how many tasks, how many of them can start at once, and how many of each key at most if others have as many. */
export interface KeyReading {
  lastFirst: boolean
  count: number
  start: number
  share: number
}

/** The next tasks of those keys whose turn it is, in the order of turns: fair among keys, whatever each has waiting. */
export function keyedHeads(
  db: Statements,
  limits: LimitCache,
  lanes: ClaimableLanes,
  queue: string,
  reading: KeyReading,
  now: number,
): KeyedHead[] {
  const { lastFirst, count, start } = reading
  const share = limits.shares.of(queue, reading.share)
  const gates = new Map<number, LimitCounter>()
  const bases = [...nonEmpty(db, READY_KEYS, lanes.queues.get(queue)!.ids)].map((base) => lanes.lane(base)!)
  if (bases.length === 0) return []
  const headsOfKeys = (most: number) => {
    const keys = bases
      .flatMap((base) => openOf(db, limits, gates, base, lastFirst, most, now))
      .sort((a, b) => a.turn - b.turn || a.lane - b.lane)
      .slice(0, most)
    return { keys, heads: headsInTurn(db, keys, reading, now) }
  }
  const few = Math.ceil(count / share)
  const { keys, heads } = headsOfKeys(few)
  limits.shares.gave(queue, heads.length >= count)
  const isEnough = heads.length >= Math.min(count, start) || keys.length < few
  return withinKeys(isEnough ? heads : headsOfKeys(count).heads, now)
}

/** One of each key in turn, as many of each as it takes. */
function headsInTurn(
  db: Statements,
  keys: readonly Turnstile[],
  { lastFirst, count }: KeyReading,
  now: number,
): KeyedHead[] {
  const share = Math.ceil(count / keys.length)
  const lines = keys.map((key) => [key.first, ...headsOf(db, key, lastFirst, 1, share - 1, now)])
  // Those with more have what others left of their share.
  let left = count - lines.reduce((sum, line) => sum + line.length, 0)
  for (const [i, key] of keys.entries()) {
    if (left <= 0 || lines[i]!.length < share) continue
    const more = headsOf(db, key, lastFirst, share, left, now)
    lines[i]!.push(...more)
    left -= more.length
  }
  return inTurn(lines, count)
}

/** Lanes of the same key with other requirements share its limit. */
function withinKeys(heads: readonly KeyedHead[], now: number): KeyedHead[] {
  return heads.filter(({ gate }) => {
    const fits = gate.room(now) > 0
    if (fits) gate.promised += 1
    return fits
  })
}

/** Of one lane's keys, by their turn; those without work, or at their limit, are shut on the way, and not met again. */
function openOf(
  db: Statements,
  limits: LimitCache,
  gates: Map<number, LimitCounter>,
  base: Lane,
  lastFirst: boolean,
  count: number,
  now: number,
): Turnstile[] {
  const open: Turnstile[] = []
  let after = { turn: -1, lane: 0 }
  // While it finds nothing it goes on: a worker may take the answer for the end of all work.
  for (let seen = 0; (seen < TURNS_MAX || open.length === 0) && open.length < count; ) {
    const rows = db
      .sql(`SELECT t.lane, t.turn, g.*, w.id AS task, w.rank
            FROM gleaner_turnstiles t CROSS JOIN gleaner_gates g ON g.id = t.gate
            LEFT JOIN gleaner_tasks w ON w.id = (
              SELECT id FROM gleaner_tasks WHERE lane = t.lane AND ${READY} ${inOrder(lastFirst)} LIMIT 1)
            WHERE t.base = ? AND t.ready = 1 AND t.turn >= ? AND (t.turn, t.lane) > (?, ?)
            ORDER BY t.turn, t.lane LIMIT ?`)
      .all(base.id, after.turn, after.turn, after.lane, count) as KeyRow[]
    for (const row of rows) {
      const { lane, turn, task, rank } = row
      const gate = gates.get(row.id) ?? new LimitCounter(row, limits)
      gates.set(row.id, gate)
      if (shutIfClosed(db, gate, now)) continue
      const key = { lane, turn, base, gate }
      if (task === null) rest(db, lane, gate, now)
      else open.push({ ...key, first: { id: task, rank, queue: base.queue, base, lane, gate } })
    }
    seen += rows.length
    if (rows.length < count) break
    after = rows.at(-1)!
  }
  return open
}

function headsOf(
  db: Statements,
  { lane, base, gate }: Omit<Turnstile, 'first'>,
  lastFirst: boolean,
  skip: number,
  count: number,
  now: number,
): KeyedHead[] {
  const most = Math.min(count, gate.room(now) - skip)
  if (most <= 0) return []
  const rows = db
    .sql(
      `SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${READY} ${inOrder(lastFirst)} LIMIT ? OFFSET ?`,
    )
    .all(lane, most, skip) as { id: number; rank: number }[]
  return rows.map(({ id, rank }) => ({ id, rank, queue: base.queue, base, lane, gate }))
}

/** Until somebody of this key ends, or its rate lets the next one through. */
function shutIfClosed(db: Statements, gate: LimitCounter, now: number): boolean {
  const { room, opensAt } = gate.admission(now)
  if (room > 0) return false
  db.sql('UPDATE gleaner_turnstiles SET ready = 0, wake_at = ? WHERE gate = ?').run(opensAt, gate.id)
  return true
}

/** Nothing waits there now. What is not used for long is looked at again, and goes. */
function rest(db: Statements, lane: number, gate: LimitCounter, now: number): void {
  if (gate.isIdle(now) && isUnused(db, lane)) return drop(db, lane, gate.id)
  db.sql('UPDATE gleaner_turnstiles SET ready = 0, wake_at = ? WHERE lane = ?').run(now + IDLE_KEY_MS, lane)
}

/** No task refers to it, waiting or finished. */
function isUnused(db: Statements, lane: number): boolean {
  return (
    db.scalar('SELECT created FROM gleaner_lanes WHERE id = ?').get(lane) === 0 &&
    db
      .scalar(`SELECT 1 FROM gleaner_tasks WHERE lane = ?
                 AND id > (SELECT value FROM gleaner_meta WHERE key = 'counted_through')`)
      .get(lane) === undefined
  )
}

function drop(db: Statements, lane: number, gate: number): void {
  db.sql('DELETE FROM gleaner_turnstiles WHERE lane = ?').run(lane)
  db.sql('DELETE FROM gleaner_lanes WHERE id = ?').run(lane)
  // The same key may have other requirements.
  db.sql(`DELETE FROM gleaner_gates WHERE id = ?
            AND NOT EXISTS (SELECT 1 FROM gleaner_turnstiles t WHERE t.gate = gleaner_gates.id)`).run(gate)
}

/** They were claimed under this fence: each of their keys has had its turn. */
export function passKeys(db: Statements, passing: readonly KeyedHead[], fence: number, now: number): void {
  if (passing.length === 0) return
  const lanes = JSON.stringify([...new Set(passing.map((head) => head.lane))])
  // An empty key is shut at once: thousands of them would stand before the others.
  db.sql(`UPDATE gleaner_turnstiles SET turn = ?, ready = one.waits, wake_at = iif(one.waits, wake_at, ?)
          FROM (SELECT value AS lane, EXISTS (SELECT 1 FROM gleaner_tasks WHERE lane = value AND ${READY}) AS waits
                FROM json_each(?)) one
          WHERE gleaner_turnstiles.lane = one.lane`).run(fence, now + IDLE_KEY_MS, lanes)
  for (const gate of new Set(passing.map((head) => head.gate))) shutIfClosed(db, gate, now)
}

/** The first suspect of those keys that may be served now. There are few: a crash leaves what one process had in hand. */
export function keyedSuspect(
  db: Statements,
  limits: LimitCache,
  open: ClaimScope,
  now: number,
): KeyedHead | null {
  let lane = 0
  for (let seen = 0; seen < TURNS_MAX; seen++) {
    const head = db
      .sql(`SELECT id, rank, lane FROM gleaner_tasks
            WHERE ${SUSPECT} AND lane > ? ORDER BY lane, rank, id LIMIT 1`)
      .get(lane) as { id: number; rank: number; lane: number } | undefined
    if (head === undefined) return null
    lane = head.lane
    const row = db.sql('SELECT base, gate FROM gleaner_turnstiles WHERE lane = ?').get(lane) as
      | { base: number; gate: number }
      | undefined
    const base = row === undefined ? undefined : open.lanes.lane(row.base)
    if (row === undefined || base === undefined || !isOpen(open, base.queue)) continue
    const gate = counterById(db, limits, row.gate)
    if (gate.room(now) > 0) return { ...head, queue: base.queue, base, gate }
  }
  return null
}
