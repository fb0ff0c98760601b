import type { Clock } from '../../clock.ts'
import type { NewStep, StepStore } from '../../store/ports/steps.ts'
import type { StepAttempt } from './step-attempt.ts'

/** Cursors are kept so often, all of a worker's together: a crash repeats this much of a loop at most. */
const INTERVAL_MS = 100

interface CursorServices {
  clock: Clock
  steps: Pick<StepStore, 'keepSteps'>
  session: () => string | null
  /** The claim of this item is lost. */
  lose: (item: string) => void
}

/** Saves the cursors of long loops: the last one of each, some times a second. */
export class Cursors {
  readonly #services: CursorServices
  #waiting = new Map<string, NewStep>()
  #stopTimer: (() => void) | null = null
  #keptMs: number
  #keeping: Promise<void> = Promise.resolve()

  constructor(services: CursorServices) {
    this.#services = services
    this.#keptMs = services.clock.monotonicMs()
  }

  /** Waits only if the last save was long ago: a loop that never waits for anything else would not let the timer run. */
  save(attempt: StepAttempt, step: NewStep): Promise<void> {
    const { abortReason } = attempt.context
    if (abortReason !== undefined) return Promise.reject(abortReason)
    this.#waiting.set(keyOf(step.claim.id, step.name, step.number), step)
    const { clock } = this.#services
    if (clock.monotonicMs() - this.#keptMs >= INTERVAL_MS) return this.flush()
    this.#stopTimer ??= clock.after(INTERVAL_MS, () => void this.flush())
    return Promise.resolve()
  }

  /** The step is done. When it resolves, no save is under way that could take the place of its result. */
  forget({ id }: StepAttempt, name: string, number: number): Promise<void> {
    this.#waiting.delete(keyOf(id, name, number))
    return this.#keeping
  }

  /** Failing to save a cursor fails no run: the next one may succeed. */
  flush(): Promise<void> {
    this.#stopTimer?.()
    this.#stopTimer = null
    this.#keptMs = this.#services.clock.monotonicMs()
    // One after the other, so that an older cursor never takes the place of a newer one.
    this.#keeping = this.#keeping.then(() => this.#keepAll()).catch(() => {})
    return this.#keeping
  }

  async #keepAll(): Promise<void> {
    const session = this.#services.session()
    const steps = [...this.#waiting.values()]
    this.#waiting = new Map()
    if (session === null || steps.length === 0) return
    const lost = await this.#services.steps.keepSteps(session, steps, 'cheap')
    for (const item of lost) this.#services.lose(item)
  }
}

function keyOf(item: string, name: string, number: number): string {
  return `${item} ${number} ${name}`
}
