import { isLastFirst } from '../../../model/rank.ts'
import type { Able, Want } from '../../contract.ts'
import { oneLine, startLimited } from '../../lines.ts'
import { isOpen, type Opening } from '../file/opening.ts'
import type { Statements } from '../file/statements.ts'
import type { Candidate } from '../limits/limited-claim.ts'
import { keyedHeads, keyedSuspect, queuesWithKeys } from '../limits/turnstiles.ts'
import type { Memory } from '../memory.ts'
import { headsOf, suspectsOf } from './heads.ts'
import { nonEmpty, READY_LANE, READY_LINE, SUSPECT_LANE } from './non-empty.ts'

/** So many queues may turn out to be empty before the index is asked which have something. */
const EMPTY_MAX = 16

/** Of so few queues each is read as if the others were empty. */
const FEW_QUEUES = 4

/** What stands first in one queue. */
interface QueueHead {
  queue: string
  heads: Candidate[]
}

/** The next ones for this worker: one of each of its queues in turn, within a queue in its order, as far as limits go. */
export function nextTasks(
  db: Statements,
  memory: Memory,
  open: Opening,
  want: Want,
  now: number,
): Candidate[] {
  const suspect = want.empty ? nextSuspect(db, memory, open, want, now) : null
  if (suspect !== null) return [suspect]
  const heads = headsInTurn(db, memory, open, want, now).map((one) => one.heads)
  const isUnderLimit = ({ queue, gate }: Candidate) =>
    gate !== undefined || (open.limits?.gateOf(queue) ?? null) !== null
  const next = startLimited(heads, want, isUnderLimit)
  if (next.length > 0) memory.turns.served(want.able, next.at(-1)!.queue)
  return next
}

/** Whether a queue of these has something: a look that takes no lock. */
export function isAnyReady(db: Statements, open: Opening): boolean {
  for (const queue of readyQueues(db, open)) if (isOpen(open, queue)) return true
  return false
}

export function isAnySuspect(db: Statements, open: Opening): boolean {
  for (const lane of nonEmpty(db, SUSPECT_LANE, open.lanes.ids))
    if (isOpen(open, open.lanes.queueOf(lane))) return true
  return false
}

function* readyQueues(db: Statements, { lanes, keyed }: Opening): Generator<string> {
  for (const lane of nonEmpty(db, READY_LANE, lanes.ownIds)) yield lanes.queueOf(lane)
  for (const line of nonEmpty(db, READY_LINE, lanes.lines)) yield lanes.queueOfLine(line)
  if (keyed) yield* queuesWithKeys(db, lanes)
}

function nextSuspect(
  db: Statements,
  memory: Memory,
  open: Opening,
  { able, avoid = [] }: Want,
  now: number,
): Candidate | null {
  const { queues, turns, lanes } = memory
  const waiting = new Set<string>()
  for (const lane of nonEmpty(db, SUSPECT_LANE, open.lanes.ids)) waiting.add(open.lanes.queueOf(lane))
  for (const queue of turns.among(able, waiting)) {
    if (!isOpen(open, queue)) continue
    const heads = suspectsOf(db, open.lanes, queue, isLastFirst(queues.of(queue)), 1 + avoid.length)
    const next = heads.find(({ id }) => !avoid.includes(String(id)))
    if (next === undefined) continue
    turns.served(able, queue)
    return next
  }
  return open.keyed ? keyedSuspect(db, lanes.limits, open, now) : null
}

/** Of each queue that has something as much as one claim could take, beginning with the queue whose turn it is. */
function headsInTurn(db: Statements, memory: Memory, open: Opening, want: Want, now: number): QueueHead[] {
  const count = want.start + want.ahead
  const { size } = open.lanes.queues
  const read = (queue: string, most: number) => headsOfQueue(db, memory, open, queue, { want, most, now })
  let most = size <= FEW_QUEUES ? count : Math.ceil(count / size)
  let found: QueueHead[] = []
  for (const queue of queuesInTurn(db, memory, open, want.able, () => found.length)) {
    const heads = read(queue, most)
    if (heads.length > 0) found.push({ queue, heads })
    if (found.length === count) break
  }
  for (;;) {
    const full = found.filter(({ heads }) => heads.length >= most)
    const missing = count - found.reduce((sum, { heads }) => sum + heads.length, 0)
    if (missing <= 0 || full.length === 0) return found
    most += Math.max(most, Math.ceil(missing / full.length))
    found = found.map((one) => (full.includes(one) ? { ...one, heads: read(one.queue, most) } : one))
  }
}

/** Most workers have few queues, and most queues have something. After many empty ones the index tells which do. */
function* queuesInTurn(
  db: Statements,
  { turns }: Memory,
  open: Opening,
  able: Able,
  found: () => number,
): Generator<string> {
  const seen = new Set<string>()
  for (const queue of turns.of(able)) {
    if (seen.size - found() >= EMPTY_MAX) {
      const ready = new Set(readyQueues(db, open))
      for (const one of seen) ready.delete(one)
      return yield* turns.among(able, ready)
    }
    seen.add(queue)
    if (open.lanes.queues.has(queue)) yield queue
  }
}

function headsOfQueue(
  db: Statements,
  { lanes, queues }: Memory,
  open: Opening,
  queue: string,
  { want, most, now }: { want: Want; most: number; now: number },
): Candidate[] {
  if (open.pausedQueues.has(queue)) return []
  const room = open.limits?.roomOf(queue) ?? Number.POSITIVE_INFINITY
  const count = Math.min(room, most)
  if (count <= 0) return []
  const lastFirst = isLastFirst(queues.of(queue))
  const ofQueue = open.lanes.queues.get(queue)!
  const plain: Candidate[] = headsOf(db, open.lanes, ofQueue, lastFirst, count)
  if (!open.keyed) return plain
  const keyed = keyedHeads(db, lanes.limits, open.lanes, queue, lastFirst, Math.min(count, want.start), now)
  return oneLine(plain, keyed, lastFirst).slice(0, count)
}
