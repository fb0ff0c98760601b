import { enterAll, LimitCounter } from '../../limit-counter.ts'
import type { Statements } from '../file/statements.ts'
import { type ClaimScope, isLimited } from '../limits/claim-scope.ts'
import { writeCounters } from '../limits/counters.ts'
import { type KeyedHead, nextWakeAt, passKeys } from '../limits/ready-keys.ts'
import type { Head } from '../waiting/heads.ts'

/** What has a key tells of its lane and its gate, too. */
export type Candidate = Head & Partial<Pick<KeyedHead, 'lane' | 'base' | 'gate'>>

/** The limits of its queue and of its key. */
export function limitsOf({ limits }: ClaimScope, { queue, gate }: Candidate): LimitCounter[] {
  return [limits?.gateOf(queue), gate].filter((one) => one instanceof LimitCounter)
}

/** They are claimed: their limits count them from now on. */
export function enter(
  db: Statements,
  open: ClaimScope,
  next: readonly Candidate[],
  { fence, start, now }: { fence: number; start: number; now: number },
): void {
  const counters = enterAll(
    next.map((one) => limitsOf(open, one)),
    start,
    now,
  )
  writeCounters(db, counters)
  const keyed = next.filter((one): one is KeyedHead => one.gate !== undefined)
  passKeys(db, keyed, fence, now)
}

/** It counts for a rate. */
export function isRated(open: ClaimScope, one: Candidate): boolean {
  return isLimited(open) && limitsOf(open, one).some((counter) => counter.isRate)
}

/** When a limit will let something through that it does not now. Infinity: not by itself. */
export function opensAt(db: Statements, { keyed, limits }: ClaimScope): number {
  const queues = limits?.opensAt() ?? Number.POSITIVE_INFINITY
  return Math.min(queues, keyed ? nextWakeAt(db) : Number.POSITIVE_INFINITY)
}
