import type { Source, SourceAnswer, SourceExchange, WorkRequest } from '../attempt/source.ts'

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/**
 * Does the worker crash on every item? If its last process ended on an item, the new one begins with one other item, alone. If it crashes
 * on that too, this shows before the same item has been blamed too often. Otherwise it continues as usual.
 */
export class CautiousStart {
  readonly #avoid: readonly string[]
  /** The sources that have nothing but the avoided items, out of so many. */
  readonly #exhausted = new Set<object>()
  readonly #sources: number
  #state: 'looking' | 'running' | 'over' = 'looking'

  constructor(avoid: readonly string[], sources = 1) {
    this.#avoid = avoid
    this.#sources = sources
  }

  /** An exchange of this source that claims only what it may. */
  async exchange(source: Source, exchange: SourceExchange): Promise<SourceAnswer> {
    // An attempt has ended, so the worker can do more than crash.
    if (this.#state === 'running' && exchange.outcomes.length > 0) this.#state = 'over'
    const want = this.#narrow(exchange.want)
    const answer = await source.ask({ ...exchange, want })
    if (this.#state === 'looking' && answer.claims.length > 0) this.#state = 'running'
    // Other suspects show only in a claim that may take one.
    if (this.#state !== 'looking' || !want?.empty || answer.sessionEnded) return answer
    if (!this.isOverWithout(source)) return answer
    const { session } = exchange
    const { claims } = await source.ask({ ...NOTHING, session, want: exchange.want })
    // A source that was asked before may have an item that was avoided.
    return { ...answer, claims, nextDueInMs: claims.length > 0 ? answer.nextDueInMs : 0 }
  }

  #narrow(want: WorkRequest | null): WorkRequest | null {
    if (want === null) return null
    // The worker holds nothing, so the attempt has ended in some way.
    if (this.#state === 'running' && want.empty) this.#state = 'over'
    if (this.#state === 'over') return want
    if (this.#state === 'running') return null
    return { ...want, start: Math.min(want.start, 1), ahead: 0, avoid: this.#avoid }
  }

  /** This source has no other item. If no source has one, the worker runs the avoided item again. */
  isOverWithout(source: object): boolean {
    this.#exhausted.add(source)
    if (this.#exhausted.size === this.#sources) this.#state = 'over'
    return this.#state === 'over'
  }
}
