import type { Pool } from '../config/types.ts'
import type { Child, Ending } from './child.ts'
import type { Timings } from './timings.ts'

export type Judgement =
  | { kind: 'kill'; ending: Ending; why: string }
  | { kind: 'recycle'; why: string }
  | null

/** An event loop that has not turned for that long is blocked, not busy. */
const BLOCKED_MS = 1_000

/** What is to be done about a process, by what was last heard of it. */
export function judge(child: Child, pool: Pool, timings: Timings): Judgement {
  const { frame, silentMs, ageMs, ready } = child
  // Before the first frame it is a matter of the start-up.
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

/** Those that nobody can stop from inside: the loop that would do it does not turn. */
function overdue({ frame, lastFrameAt }: Child, { graceMs }: Timings) {
  if (frame === null || lastFrameAt === null || (frame.loopLagMs ?? 0) < BLOCKED_MS) return []
  return frame.current.flatMap(({ item, fence, since, deadline }) =>
    fence !== null && deadline !== null && deadline + graceMs <= lastFrameAt ? [{ item, fence, since }] : [],
  )
}

function kill(ending: Ending, why: string): Judgement {
  return { kind: 'kill', ending, why }
}
