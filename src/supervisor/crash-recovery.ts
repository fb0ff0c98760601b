import type { Clock } from '../clock.ts'
import { NOTHING_RECOVERED, type OverdueItem, type Recovered, sessionEndOf } from '../model/exit.ts'
import { failedAttempt, type Measured, rescue } from '../model/metrics.ts'
import { RETRY_DEFAULT, retryDelayMs } from '../model/retry.ts'
import { readRowId } from '../model/row.ts'
import type { EndCause } from '../model/session.ts'
import { isSameProcess } from '../process-identity.ts'
import type { SessionEnd } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'
import type { Child } from './child.ts'
import type { SupervisorSetup } from './contract.ts'
import { reportOfFailure } from './failure-report.ts'
import type { Logger } from './logger.ts'

type ExitedChild = Pick<Child, 'identity' | 'requested' | 'signature' | 'assignment'>

const RETRY_MS = 1_000

interface RecoveryOptions extends Pick<SupervisorSetup, 'retryAfterMs' | 'onReport'> {
  store: Pick<Store, 'tasks' | 'sessions' | 'rows' | 'admin'>
  clock: Clock
  logger: Logger
}

/** Gives back what a process held, after its exit. If the database is away, it retries. */
export class CrashRecovery {
  readonly #options: RecoveryOptions
  #stopped = false

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** The leases give back what is left. */
  stop(): void {
    this.#stopped = true
  }

  async recover(child: ExitedChild): Promise<Recovered> {
    const { clock, logger } = this.#options
    while (!this.#stopped && child.identity !== null) {
      try {
        return await this.#recover(child)
      } catch (error) {
        logger.warn(
          { pid: child.identity.pid, err: error },
          'the items of a worker could not be given back yet; the next attempt follows',
        )
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve))
      }
    }
    return NOTHING_RECOVERED
  }

  async #recover({ identity, requested, signature, assignment }: ExitedChild): Promise<Recovered> {
    const { store } = this.#options
    const { worker } = assignment
    const live = await store.sessions.liveSessions()
    const sessions = live.filter(({ process }) => isSameProcess(process, identity!))
    const recovered = { ...NOTHING_RECOVERED }
    for (const { id } of sessions) {
      if (requested?.kind === 'overdue') await this.#timeOut(worker, id, requested.items)
      const cause = sessionEndOf(requested)
      const end = await store.sessions.endSession(id, cause, { signature })
      if (end === null) continue
      if (cause === 'crash') void this.#count(end)
      void this.reportBlamed(worker, cause, end)
      recovered.inFlight ||= end.returned > 0 || end.blamed !== null
      recovered.blamed ??= end.blamed
      recovered.workerBroken ||= end.workerBroken
    }
    return recovered
  }

  /** Nothing waits for it: the items are running again by then. */
  async #count({ returned, blamed }: SessionEnd): Promise<void> {
    const { store, logger } = this.#options
    try {
      const quarantined = blamed === null ? [] : await this.#quarantined(blamed)
      await store.admin.addMetrics([rescue('crash', returned), ...quarantined])
    } catch (error) {
      logger.warn({ err: error }, 'a crash could not be counted')
    }
  }

  /** A crash is a failed attempt that no worker can report. */
  async reportBlamed(worker: string, cause: EndCause, { blamed }: SessionEnd): Promise<void> {
    if (cause === 'crash' && blamed !== null) await this.#report(worker, blamed)
  }

  async #report(worker: string, id: string): Promise<void> {
    const { store, logger, onReport } = this.#options
    if (onReport === undefined) return
    try {
      const report = await reportOfFailure(store, id)
      if (report !== null) onReport(worker, report)
    } catch (error) {
      logger.warn({ worker, err: error }, `the failure of ${id} could not be read`)
    }
  }

  /** Empty: the item runs again. */
  async #quarantined(id: string): Promise<Measured[]> {
    const { store } = this.#options
    const row = readRowId(id)
    if (row === null) {
      const task = await store.tasks.getTask(id)
      return task?.status === 'failed' ? [failedAttempt(task, 'crash', true)] : []
    }
    const { state } = (await store.rows.getRow(row.discovery, row.key)) ?? {}
    return state === 'quarantined' ? [failedAttempt({ queue: null, name: row.discovery }, 'crash', true)] : []
  }

  /** In the name of its session, which no other process can use any more. */
  async #timeOut(worker: string, session: string, items: readonly OverdueItem[]): Promise<void> {
    const { store } = this.#options
    for (const { item, fence, since } of items) {
      const [name, key] = parts(item)
      const task = await store.tasks.getTask(key)
      const run = { fence, startedAt: since }
      // A key of a row may look like the id of a task.
      if (task?.name === name) {
        const outcomes = [{ ...run, id: task.id, outcome: this.#timedOut(name, task.attempts) }]
        await store.tasks.exchange({ session, starts: [], outcomes, progress: [], logs: [], want: null })
        void this.#report(worker, task.id)
      } else {
        const attempts = (await store.rows.getRow(name, key))?.attempts ?? 1
        const outcomes = [{ ...run, id: item, outcome: this.#timedOut(name, Math.max(1, attempts)) }]
        await store.rows.exchangeRows({ session, starts: [], outcomes, want: null })
        void this.#report(worker, item)
      }
    }
  }

  #timedOut(name: string, attempt: number) {
    const { retryAfterMs = defaultRetryAfterMs } = this.#options
    const message =
      'the handler ran longer than its time-out and blocked the event loop: its process was killed'
    const failure = { kind: 'timeout', message, stack: null } as const
    return { kind: 'failed', failure, retryAfterMs: retryAfterMs(name, attempt) } as const
  }
}

function defaultRetryAfterMs(_name: string, attempt: number): number {
  return retryDelayMs(RETRY_DEFAULT, attempt, Math.random())
}

/** A name holds no slash. */
function parts(item: string): [name: string, id: string] {
  const slash = item.indexOf('/')
  return [item.slice(0, slash), item.slice(slash + 1)]
}
