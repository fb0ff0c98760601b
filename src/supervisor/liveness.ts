import type { Pool } from '../config/types.ts'
import type { ExitRequest } from '../model/exit.ts'
import type { Child } from './child.ts'
import type { Timings } from './timings.ts'

/** What a slot does about a process. Null: nothing. */
export type LivenessAction =
  | { kind: 'kill'; requested: ExitRequest; why: string }
  | { kind: 'recycle'; why: string }
  | null

/** An event loop that has not turned for that long is blocked, not busy. */
const BLOCKED_MS = 1_000

/** Decides by the last frame of a process. */
export function checkLiveness(child: Child, pool: Pool, timings: Timings): LivenessAction {
  const { frame, silentMs, ageMs, ready } = child
  // Before the first frame, the limit of the start-up applies.
  if (frame !== null && silentMs >= timings.hungMs)
    return kill({ kind: 'hung' }, `no frame for ${Math.round(silentMs / 1_000)} s`)
  if (!ready && ageMs >= timings.startupMs)
    return kill({ kind: 'start-up' }, `not ready after ${Math.round(ageMs / 1_000)} s`)
  const items = overdue(child, timings)
  if (items.length > 0)
    return kill(
      { kind: 'overdue', items },
      `${items[0]!.item} ran past its time-out and blocks the event loop`,
    )
  if (!ready || frame === null) return null
  if (pool.maxRss !== undefined && (frame.rss ?? 0) > pool.maxRss)
    return { kind: 'recycle', why: `its memory of ${frame.rss} bytes is more than ${pool.maxRss}` }
  if (pool.maxItems !== undefined && (frame.processed ?? 0) >= pool.maxItems)
    return { kind: 'recycle', why: `it has run ${frame.processed} items` }
  return null
}

/** Items that nothing can stop from inside the process: the event loop that would do it does not turn. */
function overdue({ frame, lastFrameAt }: Child, { graceMs }: Timings) {
  if (frame === null || lastFrameAt === null || (frame.loopLagMs ?? 0) < BLOCKED_MS) return []
  return frame.current.flatMap(({ item, fence, since, deadline }) =>
    fence !== null && deadline !== null && deadline + graceMs <= lastFrameAt ? [{ item, fence, since }] : [],
  )
}

function kill(requested: ExitRequest, why: string): LivenessAction {
  return { kind: 'kill', requested, why }
}
