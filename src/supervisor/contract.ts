import type { Pool, SupervisionTimings } from '../config/types.ts'
import type { Duration } from '../duration.ts'
import type { Health, WorkerRecord } from '../model/worker.ts'
import type { ReportLevel, WorkReport } from '../process/work-report.ts'
import type { Store } from '../store/ports/store.ts'
import type { Logger } from './logger.ts'

export interface SupervisorSetup {
  /** Opened by the caller, who closes it after `stop`. */
  store: Store
  /** The config file that every worker process loads. */
  config: string
  pools: readonly Pool[]
  /** One supervisor per database and name. Default: the name of this host, numbered if another machine uses it. */
  name?: string
  logger?: Logger
  timings?: SupervisionTimings
  /** How many crashes are too many: within the window (5), and in all (20). */
  limits?: { inWindow?: number; total?: number }
  /** For how long a task that was killed at its time-out backs off. Default: the default retry policy. */
  retryAfterMs?: (name: string, attempt: number) => number
  /** Which reports of their work the workers send to `onReport`. Default: none. */
  reports?: ReportLevel
  onReport?: (worker: string, report: WorkReport) => void
  /** The workers also report the files of code that they load. */
  reportsFiles?: boolean
  /** Starts workers that an earlier supervisor gave up, and forgets their crashes. */
  forgets?: boolean
  /** Added to what the workers inherit. */
  env?: NodeJS.ProcessEnv
  /** Called on each change of a worker's record. */
  onChange?: (worker: WorkerRecord) => void
}

export interface Supervisor {
  readonly name: string
  /** Resolves when it has ended: because it was stopped, or because another supervisor leads. */
  readonly ended: Promise<void>
  /** The health monitor asks this. */
  getStatus(id: string): Health
  getCurrentItem(id: string): string | null
  /** Everything it owns, as it is now. */
  workers(): WorkerRecord[]
  /** One worker, or all. What runs is finished, nothing is claimed, processes stay. Lasts beyond a restart. */
  pause(worker?: string): void
  /** Also gives those another chance that were given up. */
  resume(worker?: string): void
  /** Replaces them one by one: the new process is ready before the old one leaves. */
  restart(worker?: string): Promise<void>
  /** Drain → SIGTERM and SIGCONT → SIGKILL the group → exit → items go back. A second call with a shorter drain hurries. */
  stop(options?: { drain?: Duration }): Promise<void>
}
