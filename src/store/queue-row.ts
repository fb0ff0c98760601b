import { ORDERING_DEFAULT, type QueueRecord, type Strategy } from '../model/queue.ts'
import type { Ranking } from '../model/rank.ts'
import type { Counts } from '../model/task.ts'

/** A queue as it is stored. */
export interface Queue extends Ranking {
  name: string
  paused: boolean
}

/** A queue's row, in either store. */
export interface QueueRow {
  name: string
  paused: number | boolean
  strategy: Strategy
  ageing_ms: number | null
  era: number
}

export const QUEUE_COLUMNS = 'name, paused, strategy, ageing_ms, era'

export function queueOf({ name, paused, strategy, ageing_ms, era }: QueueRow): Queue {
  return {
    name,
    paused: Boolean(paused),
    strategy,
    ageingMs: ageing_ms === null ? null : Number(ageing_ms),
    era,
  }
}

/** A queue that was never configured. */
export function plainQueue(name: string): Queue {
  return { name, paused: false, ...ORDERING_DEFAULT, era: 0 }
}

export function queueRecord(
  { name, paused, strategy, ageingMs }: Queue,
  counts: Counts,
  chosen: QueueRecord['chosen'],
): QueueRecord {
  return { name, paused, strategy, ageingMs, ...counts, chosen }
}
