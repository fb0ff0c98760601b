import type { Clock } from '../../clock.ts'
import type { Change } from '../../store/contract.ts'
import type { InFlight } from '../in-flight.ts'
import type { PrefetchPolicy } from '../prefetch/policy.ts'
import type { Line } from '../prefetch/prefetched.ts'
import type { Sources } from '../sources/sources.ts'

/** News waits this long for more, so that short items share a transaction. */
const NEWS_MS = 20
/** What is held ahead and still not started then goes back: somebody else may be idle. */
const AHEAD_HELD_MAX_MS = 50
/** Unless it is on its way: on a busy machine the store takes its time, and to claim it anew would take more. */
const AHEAD_ON_ITS_WAY_MAX_MS = 150
/** A process that looks so much later than it wanted to was not running. */
const AWAY_MS = 25
/** Rest after a failed exchange. */
const TROUBLE_MS = 1_000

interface Rest {
  clock: Clock
  inFlight: InFlight
  sources: Sources
  pace: PrefetchPolicy
  isTroubled: boolean
}

/** How long the next exchange can wait when nobody wakes us. */
export function restMs({ clock, inFlight, sources, pace, isTroubled }: Rest): number {
  if (isTroubled) return TROUBLE_MS
  const now = clock.monotonicMs()
  const reasons = [pace.nextLookMs(inFlight.running > 0)]
  for (const source of sources) {
    reasons.push(source.nextDueMs - now)
    if (source.outbox.sinceMs !== undefined) reasons.push(source.outbox.sinceMs + NEWS_MS - now)
    for (const { startedMs } of inFlight.unknownStarts(source)) reasons.push(startedMs + NEWS_MS - now)
  }
  if (inFlight.ahead > 0) reasons.push(lookAtLineInMs(inFlight.line, now))
  return Math.max(0, Math.min(...reasons))
}

function lookAtLineInMs({ sinceMs }: Line, nowMs: number): number {
  const heldMs = nowMs - sinceMs
  if (heldMs < AHEAD_HELD_MAX_MS) return AHEAD_HELD_MAX_MS - heldMs
  return heldMs < AHEAD_ON_ITS_WAY_MAX_MS ? AHEAD_ON_ITS_WAY_MAX_MS - heldMs : AWAY_MS
}

export function aheadIsOld({ line }: { line: Line }, nowMs: number): boolean {
  const heldMs = nowMs - line.sinceMs
  if (line.size === 0 || heldMs < AHEAD_HELD_MAX_MS) return false
  if (heldMs < AHEAD_ON_ITS_WAY_MAX_MS && line.lastsMs(nowMs) <= AHEAD_HELD_MAX_MS) return false
  const oldSinceMs = line.oldSinceMs(nowMs)
  // A process that had no processor for a while gets a moment to start what it holds: to hand it in and claim it anew would take longer.
  const wasAway = oldSinceMs - line.sinceMs >= AHEAD_HELD_MAX_MS + AWAY_MS
  return !wasAway || nowMs - oldSinceMs >= AWAY_MS
}

function isWorthWaking(change: Change, { running, ahead }: InFlight, concurrency: number): boolean {
  const what = change.kind === 'elsewhere' ? change.only : change.kind
  if (what === 'ended' || what === 'schedules') return false
  if (what === 'cancel') return running + ahead > 0
  // Busy with short items: the next exchange is a few milliseconds away, and brings everything.
  if (ahead > 0) return false
  const isOfTasks = change.kind === 'elsewhere' && change.task !== undefined
  return (what !== 'work' && !isOfTasks) || running < concurrency
}

/** What a worker is told of. */
interface Told {
  inFlight: InFlight
  sources: Sources
  concurrency: number
  /** It claims at all. */
  mayClaim: () => boolean
  /** Names of tasks that it has no resources for. */
  without: () => readonly string[]
}

/** Whether a worker looks for work now, and whether it takes new tasks that another worker would take otherwise. */
export function answerTo(change: Change, told: Told): 'nothing' | 'look' | 'take' {
  if (!isWorthWaking(change, told.inFlight, told.concurrency)) return 'nothing'
  if (change.kind !== 'elsewhere' || change.task?.turn !== 'ours') return 'look'
  const { queue, name } = change.task
  const { queues, names } = told.sources.serve
  const isServed = queues.includes(queue) && names.includes(name) && !told.without().includes(name)
  return isServed && told.mayClaim() ? 'take' : 'nothing'
}
