import { isLastFirst } from '../../../model/rank.ts'
import { oneLine, startWithinLimits } from '../../lines.ts'
import type { ClaimAbilities, ClaimRequest } from '../../ports/exchange.ts'
import { inTurn, lastInTurn, shareOf } from '../../turns.ts'
import type { Statements } from '../file/statements.ts'
import { type ClaimScope, isLimited, isOpen } from '../limits/claim-scope.ts'
import { keyedHeads, keyedSuspect, queuesWithKeys } from '../limits/ready-keys.ts'
import { type Head, headsOf, headsOfQueues, suspectsOf } from '../waiting/heads.ts'
import { nonEmpty, READY_LANE, READY_LINE, SUSPECT_LANE } from '../waiting/non-empty.ts'
import { headsOfQueueInOrder, isInChosenOrder } from './chosen-heads.ts'
import { type Candidate, limitsOf } from './limited-claim.ts'
import type { Memory } from './memory.ts'

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
  open: ClaimScope,
  want: ClaimRequest,
  now: number,
): Candidate[] {
  const suspect = want.empty ? nextSuspect(db, memory, open, want, now) : null
  if (suspect !== null) return [suspect]
  const heads = headsInTurn(db, memory, open, want, now).map((one) => one.heads)
  const next = isLimited(open)
    ? startWithinLimits(heads, want, (one) => limitsOf(open, one), now)
    : inTurn(heads, want.start + want.ahead)
  const last = lastInTurn(
    next.map(({ queue }) => queue),
    areFew(open) ? 1 : shareOf(want),
  )
  if (last !== undefined) memory.turns.served(want.able, last)
  return next
}

/** Whether a queue of these has something: a look that takes no lock. */
export function isAnyReady(db: Statements, open: ClaimScope): boolean {
  for (const queue of readyQueues(db, open)) if (isOpen(open, queue)) return true
  return false
}

export function isAnySuspect(db: Statements, open: ClaimScope): boolean {
  for (const lane of nonEmpty(db, SUSPECT_LANE, open.lanes.ids))
    if (isOpen(open, open.lanes.queueOf(lane))) return true
  return false
}

function* readyQueues(db: Statements, { lanes, keyed }: ClaimScope): Generator<string> {
  for (const lane of nonEmpty(db, READY_LANE, lanes.ownIds)) yield lanes.queueOf(lane)
  for (const line of nonEmpty(db, READY_LINE, lanes.lines)) yield lanes.queueOfLine(line)
  if (keyed) yield* queuesWithKeys(db, lanes)
}

function nextSuspect(
  db: Statements,
  memory: Memory,
  open: ClaimScope,
  { able, avoid = [] }: ClaimRequest,
  now: number,
): Candidate | null {
  const { queues, turns, lanes } = memory
  const waiting = new Set<string>()
  for (const lane of nonEmpty(db, SUSPECT_LANE, open.lanes.ids)) waiting.add(open.lanes.queueOf(lane))
  for (const queue of turns.among(able, waiting)) {
    if (!isOpen(open, queue)) continue
    const heads = suspectsOf(db, open.lanes, queue, {
      lastFirst: isLastFirst(queues.of(queue)),
      count: 1 + avoid.length,
    })
    const next = heads.find(({ id }) => !avoid.includes(String(id)))
    if (next === undefined) continue
    turns.served(able, queue)
    return next
  }
  return open.keyed ? keyedSuspect(db, lanes.limits, open, now) : null
}

/** Of each queue that has something as much as one claim could take, or its share, beginning with the queue whose turn it is. */
function headsInTurn(
  db: Statements,
  memory: Memory,
  open: ClaimScope,
  want: ClaimRequest,
  now: number,
): QueueHead[] {
  const count = want.start + want.ahead
  const isFew = areFew(open)
  const isOneByOne = isFew || isLimited(open) || open.orders !== undefined
  const share = shareOf(want)
  const read = (queue: string, most: number) =>
    headsOfQueue(db, memory, open, queue, { most, share, start: want.start }, now)
  let most = isFew ? count : share
  let found: QueueHead[] = []
  let missing = count
  const inTurn = new QueuesInTurn(db, memory, open, want.able)
  while (isFew || missing > 0) {
    const queues = inTurn.next(isOneByOne ? 1 : queuesFor(missing, found, most))
    if (queues.length === 0) break
    const heads = isOneByOne
      ? queues.map((queue) => read(queue, most))
      : headsOfEach(db, memory, open, queues, most)
    const some = queues.map((queue, i) => ({ queue, heads: heads[i]! })).filter((one) => one.heads.length > 0)
    inTurn.missed(queues.length - some.length)
    found.push(...some)
    missing = count - taskCount(found)
  }
  for (;;) {
    const full = new Set(found.filter(({ heads }) => heads.length >= most))
    missing = count - taskCount(found)
    if (missing <= 0 || full.size === 0) return found
    most += Math.max(most, Math.ceil(missing / full.size))
    found = found.map((one) => (full.has(one) ? { ...one, heads: read(one.queue, most) } : one))
  }
}

function areFew({ lanes }: ClaimScope): boolean {
  return lanes.queues.size <= FEW_QUEUES
}

function taskCount(found: readonly QueueHead[]): number {
  return found.reduce((sum, { heads }) => sum + heads.length, 0)
}

/** So many queues will give what is missing, if each gives what those before it gave, or its whole share. */
function queuesFor(missing: number, found: readonly QueueHead[], share: number): number {
  const each = found.length === 0 ? share : taskCount(found) / found.length
  return Math.ceil(missing / each)
}

/** Most workers have few queues, and most queues have something. After many empty ones the index tells which do. */
class QueuesInTurn {
  readonly #db: Statements
  readonly #memory: Memory
  readonly #open: ClaimScope
  readonly #able: ClaimAbilities
  readonly #seen = new Set<string>()
  #queues: Iterator<string>
  #missed = 0

  constructor(db: Statements, memory: Memory, open: ClaimScope, able: ClaimAbilities) {
    this.#db = db
    this.#memory = memory
    this.#open = open
    this.#able = able
    this.#queues = memory.turns.of(able)
  }

  next(count: number): string[] {
    const taken: string[] = []
    while (taken.length < count) {
      const { value, done } = this.#queues.next()
      if (done) break
      this.#seen.add(value)
      if (this.#open.lanes.queues.has(value)) taken.push(value)
      else this.missed(1)
    }
    return taken
  }

  /** So many of those had nothing. */
  missed(count: number): void {
    const isFirst = this.#missed < EMPTY_MAX
    this.#missed += count
    if (!isFirst || this.#missed < EMPTY_MAX) return
    const ready = new Set(readyQueues(this.#db, this.#open))
    for (const queue of this.#seen) ready.delete(queue)
    this.#queues = this.#memory.turns.among(this.#able, ready).values()
  }
}

/** Without limits. */
function headsOfEach(
  db: Statements,
  { queues }: Memory,
  open: ClaimScope,
  names: readonly string[],
  count: number,
): Head[][] {
  const heads = new Map<string, Head[]>()
  const unpaused = names.filter((queue) => !open.pausedQueues.has(queue))
  for (const [lastFirst, alike] of Map.groupBy(unpaused, (queue) => isLastFirst(queues.of(queue)))) {
    const lanes = alike.map((queue) => open.lanes.queues.get(queue)!)
    for (const [i, some] of headsOfQueues(db, open.lanes, lanes, { lastFirst, count }).entries())
      heads.set(alike[i]!, some)
  }
  return names.map((queue) => heads.get(queue) ?? [])
}

function headsOfQueue(
  db: Statements,
  { lanes, queues }: Memory,
  open: ClaimScope,
  queue: string,
  { most, share, start }: { most: number; share: number; start: number },
  now: number,
): Candidate[] {
  if (open.pausedQueues.has(queue)) return []
  const room = open.limits?.roomOf(queue) ?? Number.POSITIVE_INFINITY
  const count = Math.min(room, most)
  if (count <= 0) return []
  if (isInChosenOrder(open, queue))
    return headsOfQueueInOrder(db, { lanes, queues }, open, { queue, count, now })
  const lastFirst = isLastFirst(queues.of(queue))
  const ofQueue = open.lanes.queues.get(queue)!
  const plain: Candidate[] = headsOf(db, open.lanes, ofQueue, { lastFirst, count })
  if (!open.keyed) return plain
  const keyed = keyedHeads(db, lanes.limits, open.lanes, queue, { lastFirst, count, start, share }, now)
  return oneLine(plain, keyed, lastFirst).slice(0, count)
}
