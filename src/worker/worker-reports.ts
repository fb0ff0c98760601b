import type { Clock } from '../clock.ts'
import { healthOfPhase, type WorkerRecord } from '../model/worker.ts'
import type { SessionStore } from '../store/ports/sessions.ts'
import type { StoredReport } from '../store/ports/worker-reports.ts'
import type { Worker } from './worker.ts'

/** What a worker without a supervisor reports of itself. */
export type WorkerReport = Pick<WorkerRecord, 'phase' | 'health' | 'reason' | 'current' | 'counters'>

const CURRENT_MAX = 50

export function reportOf(worker: Pick<Worker, 'snapshot'>): WorkerReport {
  const { phase, reason, current, counters } = worker.snapshot()
  const items = current.slice(0, CURRENT_MAX).map(({ item, since, deadline }) => ({ item, since, deadline }))
  return { phase, health: healthOfPhase(phase), reason, current: items, counters }
}

/** By session. What an older or newer release wrote may have other fields. */
export function readReports(stored: readonly StoredReport[]): Map<string, WorkerReport> {
  return new Map(stored.map(({ session, report }) => [session, JSON.parse(report) as WorkerReport]))
}

interface ReportingOptions {
  everyMs: number
  /** Those that no supervisor reports. */
  workers: () => readonly Pick<Worker, 'session' | 'snapshot'>[]
}

/**
 * Writes down what the workers of this process do, so that other processes can show it. One small write for all of them, and only
 * after a change: idle workers write nothing.
 */
export class WorkerReporting {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #options: ReportingOptions
  #cancel: (() => void) | undefined
  #written = new Map<string, string>()
  #writing: Promise<void> = Promise.resolve()

  constructor(store: SessionStore, clock: Clock, options: ReportingOptions) {
    this.#store = store
    this.#clock = clock
    this.#options = options
  }

  start(): void {
    this.#cancel ??= this.#clock.afterIfAlive(this.#options.everyMs, () => {
      this.#writing = this.#write().finally(() => {
        if (this.#cancel === undefined) return
        this.#cancel = undefined
        this.start()
      })
    })
  }

  /** The sessions end with the workers: nothing is left to report. */
  async stop(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.#writing
  }

  async #write(): Promise<void> {
    const reports = this.#options.workers().flatMap((worker): StoredReport[] => {
      const { session } = worker
      return session === null ? [] : [{ session, report: JSON.stringify(reportOf(worker)) }]
    })
    const changed = reports.filter(({ session, report }) => this.#written.get(session) !== report)
    if (changed.length === 0) return
    try {
      await this.#store.reportWorkers(changed)
      this.#written = new Map(reports.map(({ session, report }) => [session, report]))
    } catch {
      // The next report follows. Nothing depends on it.
    }
  }
}
