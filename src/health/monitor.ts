import type { Clock } from '../clock.ts'

/** All that is known of a component. What it is, and what a status means for it, is its owner's business. */
export type Status = 'pending' | 'healthy' | 'unhealthy' | 'failed'

/** Whoever knows how a component is. Asked often, so it answers from memory. */
export interface Owner {
  status(id: string): Status
}

export interface Seen {
  id: string
  status: Status
  /** Since when it is so. */
  since: number
}

export interface Change extends Seen {
  /** Null: it was registered just now. */
  before: Status | null
}

export interface MonitorOptions {
  /** How often owners are asked; default 1 s. */
  everyMs?: number
  onChange?: (change: Change) => void
  /** An owner that throws, or answers what is no status. */
  onProblem?: (message: string, error: unknown) => void
}

interface Watched {
  owner: Owner
  seen: Seen
}

const EVERY_MS = 1_000
const STATUSES: readonly unknown[] = ['pending', 'healthy', 'unhealthy', 'failed'] satisfies Status[]

/**
 * Asks owners how their components are, and remembers since when. It decides nothing, touches no process, reads no
 * database and waits for nobody.
 */
export class HealthMonitor {
  readonly #clock: Clock
  readonly #options: MonitorOptions
  readonly #watched = new Map<string, Watched>()
  /** Their monitoring is over; they are still shown. */
  readonly #failed = new Map<string, Seen>()
  #cancel: (() => void) | undefined

  constructor(clock: Clock, options: MonitorOptions = {}) {
    this.#clock = clock
    this.#options = options
  }

  /** From now on, also if it had failed before. The answer ends it. */
  register(id: string, owner: Owner): () => void {
    this.#failed.delete(id)
    const status = this.#ask(id, owner)
    const watched = { owner, seen: { id, status, since: this.#clock.now() } }
    this.#watched.set(id, watched)
    this.#tell(watched, null)
    this.#cancel ??= this.#next()
    return () => {
      if (this.#watched.get(id) === watched) this.#watched.delete(id)
      if (this.#failed.get(id) === watched.seen) this.#failed.delete(id)
    }
  }

  get(id: string): Seen | undefined {
    return this.#watched.get(id)?.seen ?? this.#failed.get(id)
  }

  /** Everything that is registered, and what failed. */
  all(): Seen[] {
    return [...[...this.#watched.values()].map(({ seen }) => seen), ...this.#failed.values()]
  }

  /** Asks everybody now. */
  poll(): void {
    for (const [id, watched] of [...this.#watched]) {
      // Whoever was told before may have unregistered it.
      if (this.#watched.get(id) !== watched) continue
      const before = watched.seen.status
      const status = this.#ask(id, watched.owner)
      if (status === before) continue
      watched.seen = { id, status, since: this.#clock.now() }
      this.#tell(watched, before)
    }
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#watched.clear()
  }

  #next(): () => void {
    return this.#clock.afterIfAlive(this.#options.everyMs ?? EVERY_MS, () => {
      this.poll()
      // Nobody is left to ask: the next to register begins again.
      this.#cancel = this.#watched.size > 0 ? this.#next() : undefined
    })
  }

  #tell({ seen }: Watched, before: Status | null): void {
    if (seen.status === 'failed') {
      this.#watched.delete(seen.id)
      this.#failed.set(seen.id, seen)
    }
    this.#options.onChange?.({ ...seen, before })
  }

  /** Who cannot say how a component is has lost sight of it. */
  #ask(id: string, owner: Owner): Status {
    try {
      const status: unknown = owner.status(id)
      if (STATUSES.includes(status)) return status as Status
      this.#options.onProblem?.(`the owner of ${id} returned an invalid status`, status)
    } catch (error) {
      this.#options.onProblem?.(`the owner of ${id} did not return its status`, error)
    }
    return 'unhealthy'
  }
}
