import type { Clock } from '../clock.ts'
import type { ExitRequest, Recovered } from '../model/exit.ts'
import type { Child } from './child.ts'
import type { CrashRecovery } from './crash-recovery.ts'
import type { Logger } from './logger.ts'
import { Stopping } from './stopping.ts'
import type { Timings } from './timings.ts'

export interface ExitServices {
  clock: Clock
  logger: Logger
  timings: Timings
  recovery: CrashRecovery
}

/** A process that is still there after SIGKILL is held by the kernel. */
const KILLED_WITHIN_MS = 10_000
const RECOVERED_WITHIN_MS = 5_000

/** The processes of a worker that must exit, and the recovery of what they held. */
export class ExitingProcesses {
  readonly #services: ExitServices
  readonly #stopping = new Map<Child, Stopping>()
  readonly #recovering = new Set<Promise<unknown>>()

  constructor(services: ExitServices) {
    this.#services = services
  }

  get all(): Child[] {
    return [...this.#stopping.keys()]
  }

  has(child: Child): boolean {
    return this.#stopping.has(child)
  }

  /** Asks it to stop. A later call may give it less time, never more. */
  stop(child: Child, drainMs: number, kind: 'stop' | 'replaced'): void {
    const { clock, timings } = this.#services
    child.requested ??= { kind }
    const under = this.#stopping.get(child)
    if (under !== undefined) return under.within(drainMs)
    const stopping = new Stopping(child, clock, drainMs, timings.termMs)
    this.#stopping.set(child, stopping)
    void stopping.done.then(() => {
      this.#stopping.delete(child)
      // It does not exit. From now on the database refuses what it writes.
      if (child.alive) void this.recover(child)
    })
  }

  kill(child: Child, requested: ExitRequest, why: string): void {
    if (child.requested?.kind === requested.kind) return
    const { clock, logger } = this.#services
    child.requested = requested
    logger.warn({ worker: child.assignment.worker, pid: child.pid, why }, 'worker is killed')
    child.killGroup()
    const cancel = clock.after(KILLED_WITHIN_MS, () => void this.recover(child))
    void child.exited.then(cancel)
  }

  /** Gives back what it held. */
  recover(child: Child): Promise<Recovered> {
    const recovered = this.#services.recovery.recover(child)
    this.#recovering.add(recovered)
    void recovered.finally(() => this.#recovering.delete(recovered))
    return recovered
  }

  /** Resolves when all have exited. If the database is away, the leases give back what they held. */
  async finished(): Promise<void> {
    await Promise.all([...this.#stopping.values()].map(({ done }) => done))
    let cancel = () => {}
    const over = new Promise<void>((resolve) => {
      cancel = this.#services.clock.after(RECOVERED_WITHIN_MS, resolve)
    })
    await Promise.race([Promise.all(this.#recovering), over])
    cancel()
  }
}
