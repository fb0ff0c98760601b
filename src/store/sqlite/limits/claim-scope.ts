import type { ChosenOrders } from '../../../model/chosen-order.ts'
import { ClaimableLanes } from '../../claimable.ts'
import type { LimitCounter } from '../../limit-counter.ts'
import type { ClaimAbilities, ClaimRequest } from '../../ports/exchange.ts'
import type { Statements } from '../file/statements.ts'
import { counterOfQueue, type LimitCache } from './counters.ts'

const NO_LANES = new ClaimableLanes({ queues: [], names: [], capabilities: {} }, () => 0)

/** Where a worker may take from now. The limit of a queue is read when a claim comes to that queue. */
export interface ClaimScope {
  lanes: ClaimableLanes
  pausedQueues: ReadonlySet<string>
  /** Queues that have or had a limit; null: none. */
  limits: QueueLimits | null
  /** There may be keys with limits of their own. */
  keyed: boolean
  /** Everything is. */
  paused: boolean
  /** Left out: the stored orders of the queues. */
  orders?: ChosenOrders | undefined
}

export const EMPTY_SCOPE: ClaimScope = {
  lanes: NO_LANES,
  pausedQueues: new Set(),
  limits: null,
  keyed: false,
  paused: false,
}

/** The limits of queues, as one exchange sees them. */
export class QueueLimits {
  readonly #db: Statements
  readonly #book: LimitCache
  readonly #now: number
  readonly #gates = new Map<string, LimitCounter>()

  constructor(db: Statements, book: LimitCache, now: number) {
    this.#db = db
    this.#book = book
    this.#now = now
  }

  gateOf(queue: string): LimitCounter | null {
    if (!this.#book.queues.has(queue)) return null
    let gate = this.#gates.get(queue)
    if (gate === undefined) {
      gate = counterOfQueue(this.#db, this.#book, queue)
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
export function isLimited({ keyed, limits }: ClaimScope): boolean {
  return keyed || limits !== null
}

export function isOpen({ pausedQueues, limits }: ClaimScope, queue: string): boolean {
  return !pausedQueues.has(queue) && (limits === null || limits.roomOf(queue) > 0)
}

/** What a store keeps in memory of its lanes and queues. */
interface ScopeMemory {
  lanes: { readonly limits: LimitCache; claimable(able: ClaimAbilities): ClaimableLanes }
  queues: { readonly paused: ReadonlySet<string>; knowing(version: number): void }
}

/** Where this worker may take from now. */
export function openLanes(
  db: Statements,
  { lanes, queues }: ScopeMemory,
  want: ClaimRequest,
  now: number,
): ClaimScope {
  const { paused, version, limits, keyed } = settingsOf(db)
  if (paused !== 0) return { ...EMPTY_SCOPE, paused: true }
  queues.knowing(version)
  lanes.limits.knowing(limits)
  return {
    lanes: lanes.claimable(want.able),
    pausedQueues: queues.paused,
    limits: lanes.limits.queues.size > 0 ? new QueueLimits(db, lanes.limits, now) : null,
    keyed: keyed !== 0,
    paused: false,
    orders: want.able.orders,
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
