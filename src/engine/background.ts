import type { Clock } from '../clock.ts'
import type { DiscoveryRegistry } from '../discovery/registry.ts'
import { Pruner } from '../maintenance/pruner.ts'
import { Repairer } from '../maintenance/repairer.ts'
import { Reranker } from '../maintenance/reranker.ts'
import { Settler } from '../maintenance/settler.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import type { Retention } from '../model/retention.ts'
import type { Meter } from '../observe/meter.ts'
import { type Occurrences, Recurring } from '../queue/recurring.ts'
import type { Store } from '../store/ports/store.ts'
import type { Emitter } from '../worker/attempt/events.ts'
import type { RunHooks } from '../worker/attempt/hooks.ts'
import { reportLostWorker } from './lost-workers.ts'

interface BackgroundDeps {
  store: Store
  clock: Clock
  emitter: Emitter
  hooks: RunHooks
  meter: Meter
  discoveries: DiscoveryRegistry
  occurrences: Occurrences
  retention: Retention
  timings: { leaseMs: number; sweepMs: number; idleMaxMs: number; pruneMs: number; repairMs: number }
  onProblem: (message: string, error: unknown) => void
}

/** What a process with workers does beside them: it sweeps, enqueues recurring tasks, removes finished ones, re-ranks and repairs. */
export class Background {
  readonly pruner: Pruner
  readonly #sweeper: Sweeper
  readonly #recurring: Recurring
  readonly #reranker: Reranker
  readonly #repairer: Repairer
  readonly #settler: Settler
  /** Other processes can see the sessions of this one. */
  readonly #isShared: boolean
  #isSweeping = false

  constructor(deps: BackgroundDeps) {
    const { store, clock, meter, occurrences, retention, timings, onProblem } = deps
    this.#isShared = store.sessions.renewal() !== null
    this.#sweeper = new Sweeper(store, clock, {
      leaseMs: timings.leaseMs,
      everyMs: timings.sweepMs,
      onEnded: (session, cause, end) => reportLostWorker(deps, session, cause, end),
    })
    this.#recurring = new Recurring(store, clock, occurrences, {
      restMs: timings.idleMaxMs,
      onEnqueued: (task) => meter.enqueued(task),
      onProblem,
    })
    this.pruner = new Pruner(store.maintenance, clock, retention, { everyMs: timings.pruneMs, onProblem })
    this.#reranker = new Reranker(store.maintenance, clock, { everyMs: timings.sweepMs, onProblem })
    this.#settler = new Settler(store.flows, clock, { everyMs: timings.sweepMs, onProblem })
    this.#repairer = new Repairer(store.maintenance, clock, { everyMs: timings.repairMs, onProblem })
  }

  /** A process that changes the order of a queue begins to re-rank its tasks. Processes with workers continue. */
  queuesChanged(): void {
    if (this.#isShared) void this.#reranker.once()
  }

  /** After the start of a worker or a claim, which the app waits for. `isRemote`: a session of another process depends on this one. */
  start({ servesRows, isRemote = false }: { servesRows: boolean; isRemote?: boolean }): void {
    const isShared = this.#isShared || isRemote
    if (isShared && !this.#isSweeping) {
      this.#isSweeping = true
      this.#sweeper.start()
      this.#reranker.start()
      this.#settler.start()
    }
    this.#recurring.start()
    this.pruner.start()
    if (servesRows && isShared) this.#repairer.start()
  }

  /** Starts no further job. The sweeper continues until the workers have stopped. */
  stop(): void {
    this.#recurring.stop()
    this.pruner.stop()
    this.#reranker.stop()
    this.#repairer.stop()
  }

  async stopSweeping(): Promise<void> {
    this.#sweeper.stop()
    await this.#settler.stop()
  }
}
