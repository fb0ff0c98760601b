import type { Clock } from '../clock.ts'
import type { Aftermath, Legacy } from './aftermath.ts'
import type { Child, Ending } from './child.ts'
import type { Logger } from './logger.ts'
import { Stopping } from './stopping.ts'
import type { Timings } from './timings.ts'

export interface LeaverServices {
  clock: Clock
  logger: Logger
  timings: Timings
  aftermath: Aftermath
}

/** A process that was killed and is still there is held by the kernel. */
const KILLED_WITHIN_MS = 10_000
const LAST_WORDS_MS = 5_000

/** The processes of a worker that are on their way out, and what they leave behind. */
export class Leavers {
  readonly #services: LeaverServices
  readonly #stopping = new Map<Child, Stopping>()
  readonly #settling = new Set<Promise<unknown>>()

  constructor(services: LeaverServices) {
    this.#services = services
  }

  get all(): Child[] {
    return [...this.#stopping.keys()]
  }

  has(child: Child): boolean {
    return this.#stopping.has(child)
  }

  /** Asks it to leave. Whoever asks again may give it less time, never more. */
  stop(child: Child, drainMs: number, kind: 'stop' | 'replaced'): void {
    const { clock, timings } = this.#services
    child.ending ??= { kind }
    const under = this.#stopping.get(child)
    if (under !== undefined) return under.within(drainMs)
    const stopping = new Stopping(child, clock, drainMs, timings.termMs)
    this.#stopping.set(child, stopping)
    void stopping.done.then(() => {
      this.#stopping.delete(child)
      // It will not end: what it writes from now on is refused.
      if (child.alive) void this.settle(child)
    })
  }

  kill(child: Child, ending: Ending, why: string): void {
    if (child.ending?.kind === ending.kind) return
    const { clock, logger } = this.#services
    child.ending = ending
    logger.warn({ worker: child.assignment.worker, pid: child.pid, why }, 'worker is killed')
    child.killGroup()
    const cancel = clock.after(KILLED_WITHIN_MS, () => void this.settle(child))
    void child.exited.then(cancel)
  }

  /** Gives back what it held. */
  settle(child: Child): Promise<Legacy> {
    const settled = this.#services.aftermath.settle(child)
    this.#settling.add(settled)
    void settled.finally(() => this.#settling.delete(settled))
    return settled
  }

  /** A database that is away does not keep anybody from leaving: what was not given back is the leases' to repair. */
  async gone(): Promise<void> {
    await Promise.all([...this.#stopping.values()].map(({ done }) => done))
    let cancel = () => {}
    const over = new Promise<void>((resolve) => {
      cancel = this.#services.clock.after(LAST_WORDS_MS, resolve)
    })
    await Promise.race([Promise.all(this.#settling), over])
    cancel()
  }
}
