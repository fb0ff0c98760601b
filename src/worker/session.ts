import { StoreError } from '../errors.ts'
import { identifySelf } from '../process-identity.ts'
import type { Exchanges } from './exchange.ts'
import type { InFlight } from './in-flight.ts'
import type { Polling } from './polling.ts'
import type { Sources } from './sources/sources.ts'
import type { WorkerOptions, WorkerServices } from './worker-options.ts'

/** A server that crashed is back, or its standby is promoted, within seconds. Otherwise the lease returns what the worker held. */
const AWAY_MS = 5_000
const AGAIN_MS = 200

interface SessionParts {
  options: WorkerOptions
  services: WorkerServices
  sources: Sources
  inFlight: InFlight
  polling: Polling
}

/** As which session does the database know the worker? */
export class WorkerSession {
  /** Null: it has none now. */
  id: string | null = null
  readonly #parts: SessionParts

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  async open(): Promise<string> {
    if (this.id !== null) return this.id
    const { options, services, sources } = this.#parts
    const { id: worker, capabilities, supervisor } = options
    const self = { worker, process: identifySelf(), supervisor, capabilities }
    const id = await services.store.sessions.openSession({ ...self, ...sources.serves })
    this.id = id
    services.keeper.hold(id, () => this.lose(id))
    return id
  }

  /** Another process ended it (this one was stopped, or asleep, for longer than the lease): the worker holds nothing any more. */
  lose(id: string): void {
    if (this.id !== id) return
    const { services, inFlight, sources, polling } = this.#parts
    services.keeper.release(id)
    this.id = null
    inFlight.loseEverything()
    sources.dropOutboxes()
    polling.nudge()
  }

  /** Settles what has finished and ends the session, which returns the rest. If the store is away, it tries for a while. */
  async end(exchanges: Exchanges): Promise<void> {
    const { services, inFlight, sources } = this.#parts
    const { clock } = services
    const holdsSomething = inFlight.running > 0 || sources.haveUnsent
    const givesUpAtMs = clock.monotonicMs() + (holdsSomething ? AWAY_MS : 0)
    while (this.id !== null) {
      try {
        return await this.#end(this.id, exchanges)
      } catch (error) {
        exchanges.failed()
        const isAway = error instanceof StoreError && error.code === 'STORE_AWAY'
        if (!isAway || clock.monotonicMs() >= givesUpAtMs) throw error
      }
      await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
    }
  }

  async #end(id: string, exchanges: Exchanges): Promise<void> {
    const { services, sources } = this.#parts
    for (const source of sources) if (!source.outbox.isEmpty) await exchanges.make(source, id, null)
    await services.store.sessions.endSession(id, 'stop')
  }

  /** The keeper renews it no longer. */
  release(): void {
    if (this.id !== null) this.#parts.services.keeper.release(this.id)
  }
}
