import { isLastFirst } from '../../../model/rank.ts'
import type { Want } from '../../contract.ts'
import { oneLine, startLimited } from '../../lines.ts'
import type { Opening } from '../file/opening.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { type Head, headsOf, READY, SUSPECT } from '../tasks/heads.ts'
import { enterGate, type LimitBook } from './gates.ts'
import { type KeyedHead, keyedHeads, keyedSuspect, passKeys } from './turnstiles.ts'

/** What has a key tells of its lane and its gate, too. */
type Candidate = Head & Partial<Pick<KeyedHead, 'lane' | 'base' | 'gate'>>

/** The next ones for this worker, as far as the limits of queues and keys go. */
export function nextWithinLimits(
  db: Statements,
  { lanes, queues, turns }: Memory,
  open: Opening,
  want: Want,
  now: number,
): Candidate[] {
  const suspect = want.empty ? suspectWithinLimits(db, lanes.limits, open, want, now) : null
  if (suspect !== null) return [suspect]
  const lines = turns.of(want.able).map((queue) => {
    const ofQueue = open.lanes.filter((lane) => lane.queue === queue)
    const room = open.queues.get(queue)?.room(now) ?? Number.POSITIVE_INFINITY
    const count = Math.min(room, want.start + want.ahead)
    const lastFirst = isLastFirst(queues.of(queue))
    const plain: Candidate[] = headsOf(db, READY, ofQueue, lastFirst, count)
    const keyed = open.keyed
      ? keyedHeads(db, lanes.limits, ofQueue, lastFirst, Math.min(room, want.start), now)
      : []
    return oneLine(plain, keyed, lastFirst).slice(0, count)
  })
  const next = startLimited(lines, want, ({ queue, gate }) => gate !== undefined || open.queues.has(queue))
  if (next.length > 0) turns.served(want.able, next.at(-1)!.queue)
  return next
}

function suspectWithinLimits(
  db: Statements,
  limits: LimitBook,
  open: Opening,
  { avoid = [] }: Want,
  now: number,
): Candidate | null {
  const heads = headsOf(db, SUSPECT, open.lanes, false, 1 + avoid.length)
  const plain = heads.find(({ id }) => !avoid.includes(String(id))) ?? null
  return plain ?? (open.keyed ? keyedSuspect(db, limits, open.lanes, now) : null)
}

/** They are claimed: their limits count them from now on. */
export function enter(
  db: Statements,
  open: Opening,
  next: readonly Candidate[],
  fence: number,
  now: number,
): void {
  passKeys(
    db,
    next.filter((one): one is KeyedHead => one.gate !== undefined),
    fence,
    now,
  )
  for (const [queue, gate] of open.queues) {
    const count = next.filter((one) => one.queue === queue).length
    if (count > 0) enterGate(db, gate, count, now)
  }
}
