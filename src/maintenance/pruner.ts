import type { Clock } from '../clock.ts'
import { limitsOf, type Retention, type StepSize } from '../model/retention.ts'
import type { MaintenanceStore, Pruned } from '../store/ports/maintenance.ts'

/** Tasks of one step. It grows and shrinks with what a step takes. */
const LIMIT = { first: 100, least: 5, most: 2_000 }
const FACTOR = { larger: 2, same: 1, smaller: 0.5 }

/** A background step is followed by a rest of so many times its length: work gets nine tenths of the time. */
const REST = 9
/** Who asked for it waits for it. */
const REST_IN_A_HURRY = 1

/** Of one process, and renewed by each step. Long enough for the rest after a slow one. */
const TURN_MS = 10_000

export function nextLimit(limit: number, size: StepSize): number {
  return Math.min(LIMIT.most, Math.max(LIMIT.least, Math.round(limit * FACTOR[size])))
}

export interface PrunerOptions {
  everyMs: number
  onProblem: (message: string, error: unknown) => void
}

/** Removes finished tasks that need not be kept any more, a few at a time, while others work. */
export class Pruner {
  readonly #store: MaintenanceStore
  readonly #clock: Clock
  readonly #retention: Retention
  readonly #options: PrunerOptions
  #turn: number | null = null
  #afterLane = 0
  #cancel: (() => void) | undefined
  #isStarted = false
  #isStopped = false
  /** The last round failed, and that was told. */
  #isTroubled = false

  constructor(store: MaintenanceStore, clock: Clock, retention: Retention, options: PrunerOptions) {
    this.#store = store
    this.#clock = clock
    this.#retention = retention
    this.#options = options
  }

  /** Where everything is kept, nothing is started. The first round comes early: not every process lives for long. */
  start(): void {
    if (this.#isStarted || limitsOf(this.#retention).length === 0) return
    this.#isStarted = true
    this.#next(this.#options.everyMs / 6, LIMIT.first)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /** Everything now, and as fast as others can bear. How many were removed. */
  async prune(retention: Retention, onStep: (removed: number) => void = () => {}): Promise<number> {
    let removed = 0
    let limit = LIMIT.first
    let afterLane = 0
    for (;;) {
      const step = await this.#store.pruneTasks(retention, { limit, afterLane })
      removed += step.removed
      onStep(removed)
      if (!step.more) return removed
      limit = nextLimit(limit, step.next)
      afterLane = step.afterLane
      // Of real time, as the work was.
      await new Promise((resolve) => setTimeout(resolve, step.workMs * REST_IN_A_HURRY))
    }
  }

  #next(afterMs: number, limit: number): void {
    if (this.#isStopped) return
    this.#cancel = this.#clock.after(afterMs, () => void this.#step(limit))
  }

  async #step(limit: number): Promise<void> {
    const { everyMs } = this.#options
    const step = await this.#tryStep(limit)
    if (step?.more) this.#next(Math.ceil(step.workMs * REST), nextLimit(limit, step.next))
    else this.#next(everyMs, LIMIT.first)
  }

  async #tryStep(limit: number): Promise<Pruned | null> {
    try {
      const turn = { held: this.#turn, forMs: TURN_MS }
      const afterLane = this.#afterLane
      const step = await this.#store.pruneTasks(this.#retention, { limit, afterLane, turn })
      this.#turn = step.turn
      this.#afterLane = step.more ? step.afterLane : 0
      this.#isTroubled = false
      return step
    } catch (error) {
      if (!this.#isStopped && !this.#isTroubled)
        this.#options.onProblem('could not remove finished tasks; the next pass retries', error)
      this.#isTroubled = true
      return null
    }
  }
}
