import type { Clock } from '../clock.ts'
import type { Change } from '../store/contract.ts'
import type { Hands } from './hands.ts'
import type { Pace } from './pace.ts'
import type { Sources } from './sources/sources.ts'

/** News waits this long for more, so that short items share a transaction. */
const NEWS_MS = 20
/** What is held ahead and still not started then goes back: somebody else may be idle. */
const AHEAD_HELD_MAX_MS = 50
/** Rest after a failed exchange. */
const TROUBLE_MS = 1_000

interface Rest {
  clock: Clock
  hands: Hands
  sources: Sources
  pace: Pace
  isTroubled: boolean
}

/** How long the next exchange can wait when nobody wakes us. */
export function restMs({ clock, hands, sources, pace, isTroubled }: Rest): number {
  if (isTroubled) return TROUBLE_MS
  const now = clock.monotonicMs()
  const reasons = [pace.nextLookMs(hands.running > 0)]
  for (const source of sources) {
    reasons.push(source.nextDueMs - now)
    if (source.news.sinceMs !== undefined) reasons.push(source.news.sinceMs + NEWS_MS - now)
    for (const { startedMs } of hands.unknownStarts(source)) reasons.push(startedMs + NEWS_MS - now)
  }
  if (hands.ahead > 0) reasons.push(hands.aheadSinceMs + AHEAD_HELD_MAX_MS - now)
  return Math.max(0, Math.min(...reasons))
}

export function aheadIsOld(hands: Hands, nowMs: number): boolean {
  return hands.ahead > 0 && nowMs - hands.aheadSinceMs >= AHEAD_HELD_MAX_MS
}

export function isWorthWaking(change: Change, { running, ahead }: Hands, concurrency: number): boolean {
  if (change.kind === 'ended' || (change.kind === 'elsewhere' && change.only === 'ended')) return false
  if (change.kind === 'cancel') return running + ahead > 0
  // Busy with short items: the next exchange is a few milliseconds away, and brings everything.
  if (ahead > 0) return false
  return change.kind !== 'work' || running < concurrency
}
