import type { Clock } from '../clock.ts'
import type { Phase } from '../model/worker.ts'
import type { Frame } from './frame.ts'

export interface ForeignHealthOptions {
  clock: Clock
  /** How often a worker writes a frame: silent for twice that it is unhealthy, for six times that it is hung. */
  frameEveryMs: number
  /** Null: the program is well, and what the host says of itself is right. */
  onPhase: (phase: Phase | null) => void
  onHung: () => void
}

const STALE_FRAMES = 2
const HUNG_FRAMES = 6

/**
 * What a program's own frames say of the worker that it is part of. They are optional until the first: who has never
 * written one is not missed, who has is expected to go on.
 */
export class ForeignHealth {
  readonly #options: ForeignHealthOptions
  #cancel: (() => void)[] = []
  #phase: Phase | null = null

  constructor(options: ForeignHealthOptions) {
    this.#options = options
  }

  readonly heard = (frame: Frame): void => {
    const { clock, frameEveryMs, onHung } = this.#options
    this.#cancelAll()
    this.#enter(phaseOf(frame))
    this.#cancel = [
      clock.afterIfAlive(STALE_FRAMES * frameEveryMs, () => this.#enter('backing_off')),
      clock.afterIfAlive(HUNG_FRAMES * frameEveryMs, onHung),
    ]
  }

  /** Another program, which may write none. */
  readonly forget = (): void => {
    this.#cancelAll()
    this.#enter(null)
  }

  #cancelAll(): void {
    for (const cancel of this.#cancel) cancel()
  }

  #enter(phase: Phase | null): void {
    if (phase === this.#phase) return
    this.#phase = phase
    this.#options.onPhase(phase)
  }
}

/** What keeps it from working is worth telling; whether it works the host knows better. */
function phaseOf({ phase, status }: Frame): Phase | null {
  if (phase === 'initializing' || phase === 'loading_models' || phase === 'backing_off') return phase
  if (status === 'pending') return 'loading_models'
  return status === 'healthy' ? null : 'backing_off'
}
