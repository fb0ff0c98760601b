import type { Clock } from '../clock.ts'
import type { Phase, ProgramHealth } from '../model/worker.ts'
import type { Frame } from './frame.ts'

export interface Hindrance {
  phase: Phase
  /** For people: what the worker waits for. */
  reason: string
}

export interface ForeignHealthOptions {
  clock: Clock
  /** How often a worker writes a frame: silent for twice that it is unhealthy, for six times that it is hung. */
  frameEveryMs: number
  /** Null: the program is well, and what the host says of itself is right. */
  onHindrance: (hindrance: Hindrance | null) => void
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
  #hindrance: Hindrance | null = null

  constructor(options: ForeignHealthOptions) {
    this.#options = options
  }

  readonly heard = (frame: Frame): void => {
    const { clock, frameEveryMs, onHung } = this.#options
    this.#cancelAll()
    this.#enter(hindranceOf(frame))
    this.#cancel = [
      clock.afterIfAlive(STALE_FRAMES * frameEveryMs, () => this.#enter(SILENT)),
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

  #enter(hindrance: Hindrance | null): void {
    const { phase, reason } = this.#hindrance ?? {}
    if (hindrance?.phase === phase && hindrance?.reason === reason) return
    this.#hindrance = hindrance
    this.#options.onHindrance(hindrance)
  }
}

/** What others see of it. */
export function programOf({ status, phase, currentJob, metrics }: Frame): ProgramHealth {
  return { status, phase, currentJob, metrics }
}

const SILENT: Hindrance = { phase: 'backing_off', reason: 'its program writes no frames any more' }

function hindranceOf(frame: Frame): Hindrance | null {
  const phase = phaseOf(frame)
  return phase === null ? null : { phase, reason: frame.reason ?? `its program reports ${phase}` }
}

/** What keeps it from working is worth telling; whether it works the host knows better. */
function phaseOf({ phase, status }: Frame): Phase | null {
  if (phase === 'initializing' || phase === 'loading_models' || phase === 'backing_off') return phase
  if (status === 'pending') return 'loading_models'
  return status === 'healthy' ? null : 'backing_off'
}
