import type { LimitCounter } from '../../limit-counter.ts'
import type { Statements } from '../file/statements.ts'
import type { ClaimScope } from '../limits/claim-scope.ts'
import { enterCounters } from '../limits/counters.ts'
import { type KeyedHead, nextWakeAt, passKeys } from '../limits/ready-keys.ts'
import type { Head } from '../waiting/heads.ts'

/** What has a key tells of its lane and its gate, too. */
export type Candidate = Head & Partial<Pick<KeyedHead, 'lane' | 'base' | 'gate'>>

/** They are claimed: their limits count them from now on. */
export function enter(
  db: Statements,
  open: ClaimScope,
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
  if (open.limits === null) return
  const entering = new Map<LimitCounter, number>()
  for (const { queue } of next) {
    const gate = open.limits.gateOf(queue)
    if (gate !== null) entering.set(gate, (entering.get(gate) ?? 0) + 1)
  }
  if (entering.size > 0) enterCounters(db, entering, now)
}

/** When a limit will let something through that it does not now. Infinity: not by itself. */
export function opensAt(db: Statements, { keyed, limits }: ClaimScope): number {
  const queues = limits?.opensAt() ?? Number.POSITIVE_INFINITY
  return Math.min(queues, keyed ? nextWakeAt(db) : Number.POSITIVE_INFINITY)
}
