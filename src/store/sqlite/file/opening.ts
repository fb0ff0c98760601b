import { ClaimableLanes } from '../../claimable.ts'
import type { Gate } from '../../gate.ts'
import type { ClaimRequest } from '../../ports/exchange.ts'
import { gateOfQueue, type LimitBook } from '../limits/gates.ts'
import type { Memory } from '../memory.ts'
import type { Statements } from './statements.ts'

const NO_LANES = new ClaimableLanes({ queues: [], names: [], capabilities: {} }, () => 0)

/** Where a worker may take from now. The limit of a queue is read when a claim comes to that queue. */
export interface Opening {
  lanes: ClaimableLanes
  pausedQueues: ReadonlySet<string>
  /** Queues that have or had a limit; null: none. */
  limits: QueueLimits | null
  /** There may be keys with limits of their own. */
  keyed: boolean
  /** Everything is. */
  paused: boolean
}

export const NOTHING_OPEN: Opening = {
  lanes: NO_LANES,
  pausedQueues: new Set(),
  limits: null,
  keyed: false,
  paused: false,
}

/** The limits of queues, as one exchange sees them. */
export class QueueLimits {
  readonly #db: Statements
  readonly #book: LimitBook
  readonly #now: number
  readonly #gates = new Map<string, Gate>()

  constructor(db: Statements, book: LimitBook, now: number) {
    this.#db = db
    this.#book = book
    this.#now = now
  }

  gateOf(queue: string): Gate | null {
    if (!this.#book.queues.has(queue)) return null
    let gate = this.#gates.get(queue)
    if (gate === undefined) {
      gate = gateOfQueue(this.#db, this.#book, queue)
      this.#gates.set(queue, gate)
    }
    return gate
  }

  roomOf(queue: string): number {
    return this.gateOf(queue)?.room(this.#now) ?? Number.POSITIVE_INFINITY
  }

  /** When the rate of one that let nothing through lets the next one through. Infinity: not by itself. */
  opensAt(): number {
    const moments = [...this.#gates.values()].map((gate) => gate.admission(this.#now).opensAt)
    return Math.min(...moments.map((at) => at ?? Number.POSITIVE_INFINITY))
  }
}

/** Most have none, and are served without looking for any. */
export function isLimited({ keyed, limits }: Opening): boolean {
  return keyed || limits !== null
}

export function isOpen({ pausedQueues, limits }: Opening, queue: string): boolean {
  return !pausedQueues.has(queue) && (limits === null || limits.roomOf(queue) > 0)
}

export function openLanes(
  db: Statements,
  { lanes, queues }: Memory,
  want: ClaimRequest,
  now: number,
): Opening {
  const { paused, version, limits, keyed } = settingsOf(db)
  if (paused !== 0) return { ...NOTHING_OPEN, paused: true }
  queues.knowing(version)
  lanes.limits.knowing(limits)
  return {
    lanes: lanes.claimable(want.able),
    pausedQueues: queues.paused,
    limits: lanes.limits.queues.size > 0 ? new QueueLimits(db, lanes.limits, now) : null,
    keyed: keyed !== 0,
    paused: false,
  }
}

function settingsOf(db: Statements): Record<'paused' | 'version' | 'limits' | 'keyed', number> {
  return db
    .sql(`SELECT (SELECT value FROM gleaner_meta WHERE key = 'paused') AS paused,
                 (SELECT value FROM gleaner_meta WHERE key = 'queues') AS version,
                 (SELECT value FROM gleaner_meta WHERE key = 'limits') AS limits,
                 (SELECT value FROM gleaner_meta WHERE key = 'keyed') AS keyed`)
    .get() as ReturnType<typeof settingsOf>
}
