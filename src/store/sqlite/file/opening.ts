import type { Want } from '../../contract.ts'
import type { Gate } from '../../gate.ts'
import type { Lane } from '../../lane.ts'
import { gateOfQueue } from '../limits/gates.ts'
import { nextWakeAt } from '../limits/turnstiles.ts'
import type { Memory } from '../memory.ts'
import type { LaneCache } from '../tasks/lanes.ts'
import type { Statements } from './statements.ts'

/** Where a worker may take from now. */
export interface Opening {
  /** Not those of a paused queue, nor of one whose limit is reached. */
  lanes: readonly Lane[]
  /** The limits of these lanes' queues; most have none. */
  queues: ReadonlyMap<string, Gate>
  /** They may have keys with limits of their own. */
  keyed: boolean
  /** When the rate of a queue that is shut lets the next one through. */
  queueOpensAt: number
  /** Everything is. */
  paused: boolean
}

export const NOTHING_OPEN: Opening = {
  lanes: [],
  queues: new Map(),
  keyed: false,
  queueOpensAt: Number.POSITIVE_INFINITY,
  paused: false,
}

/** Most have none, and are served without looking for any. */
export function isLimited({ keyed, queues }: Opening): boolean {
  return keyed || queues.size > 0
}

export function openLanes(db: Statements, { lanes, queues }: Memory, want: Want, now: number): Opening {
  const { paused, version, limits, keyed } = settingsOf(db)
  if (paused !== 0) return { ...NOTHING_OPEN, paused: true }
  queues.knowing(version)
  lanes.limits.knowing(limits)
  const claimable = lanes.claimable(want.able)
  const open = queues.isAnyPaused ? claimable.filter((lane) => !queues.of(lane.queue).paused) : claimable
  const opening = { ...NOTHING_OPEN, lanes: open, keyed: keyed !== 0 }
  return lanes.limits.hasQueues() ? withinQueueLimits(db, lanes, opening, now) : opening
}

function settingsOf(db: Statements): Record<'paused' | 'version' | 'limits' | 'keyed', number> {
  return db
    .sql(`SELECT (SELECT value FROM gleaner_meta WHERE key = 'paused') AS paused,
                 (SELECT value FROM gleaner_meta WHERE key = 'queues') AS version,
                 (SELECT value FROM gleaner_meta WHERE key = 'limits') AS limits,
                 (SELECT value FROM gleaner_meta WHERE key = 'keyed') AS keyed`)
    .get() as ReturnType<typeof settingsOf>
}

function withinQueueLimits(db: Statements, lanes: LaneCache, opening: Opening, now: number): Opening {
  const queues = new Map<string, Gate>()
  const shut = new Set<string>()
  let queueOpensAt = Number.POSITIVE_INFINITY
  for (const queue of new Set(opening.lanes.map((lane) => lane.queue))) {
    const gate = gateOfQueue(db, lanes.limits, queue)
    if (gate === null) continue
    const { room, opensAt } = gate.admission(now)
    if (room > 0) queues.set(queue, gate)
    else {
      shut.add(queue)
      if (opensAt !== null) queueOpensAt = Math.min(queueOpensAt, opensAt)
    }
  }
  return { ...opening, lanes: opening.lanes.filter((lane) => !shut.has(lane.queue)), queues, queueOpensAt }
}

/** When a limit will let something through that it does not now. Infinity: not by itself. */
export function opensAt(db: Statements, { keyed, queues, queueOpensAt }: Opening, now: number): number {
  // A claim may have shut some of those that were open.
  const shutSince = [...queues.values()].map(
    (gate) => gate.admission(now).opensAt ?? Number.POSITIVE_INFINITY,
  )
  return Math.min(queueOpensAt, ...shutSince, keyed ? nextWakeAt(db) : Number.POSITIVE_INFINITY)
}
