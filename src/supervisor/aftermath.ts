import type { Clock } from '../clock.ts'
import { failedAttempt, type Measured, rescue } from '../model/metrics.ts'
import { RETRY_DEFAULT, retryDelayMs } from '../model/retry.ts'
import { readRowId } from '../model/row.ts'
import type { EndCause } from '../model/session.ts'
import { isSameProcess, type ProcessIdentity } from '../process-identity.ts'
import type { SessionEnd } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'
import type { Child, Ending } from './child.ts'
import type { SupervisorOptions } from './contract.ts'
import { reportOfFailure } from './failure-report.ts'
import type { Logger } from './logger.ts'

/** What a process left behind. */
export interface Legacy {
  /** Something was in its hands. */
  inFlight: boolean
  /** The item that was charged with the crash. */
  blamed: string | null
  workerBroken: boolean
}

type Deceased = Pick<Child, 'identity' | 'ending' | 'signature' | 'assignment'>

const NOTHING: Legacy = { inFlight: false, blamed: null, workerBroken: false }
const TRY_AGAIN_MS = 1_000

/** Gives back what a process held, once it has ended: tried until the database takes it. */
export class Aftermath {
  readonly #store: Pick<Store, 'tasks' | 'sessions' | 'rows' | 'admin'>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #retryAfterMs: NonNullable<SupervisorOptions['retryAfterMs']>
  readonly #onReport: SupervisorOptions['onReport']
  #stopped = false

  constructor(
    store: Pick<Store, 'tasks' | 'sessions' | 'rows' | 'admin'>,
    clock: Clock,
    logger: Logger,
    options: Pick<SupervisorOptions, 'retryAfterMs' | 'onReport'>,
  ) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#retryAfterMs =
      options.retryAfterMs ?? ((_name, attempt) => retryDelayMs(RETRY_DEFAULT, attempt, Math.random()))
    this.#onReport = options.onReport
  }

  /** What is not given back by now is left to the leases. */
  giveUp(): void {
    this.#stopped = true
  }

  async settle({ identity, ending, signature, assignment }: Deceased): Promise<Legacy> {
    if (identity === null) return NOTHING
    while (!this.#stopped) {
      try {
        return await this.#settle(assignment.worker, identity, ending, signature)
      } catch (error) {
        this.#logger.warn(
          { pid: identity.pid, err: error },
          'the items of a worker could not be given back yet; the next attempt follows',
        )
        await new Promise<void>((resolve) => this.#clock.after(TRY_AGAIN_MS, resolve))
      }
    }
    return NOTHING
  }

  async #settle(
    worker: string,
    identity: ProcessIdentity,
    ending: Ending | null,
    signature?: string,
  ): Promise<Legacy> {
    const live = await this.#store.sessions.liveSessions()
    const sessions = live.filter(({ process }) => isSameProcess(process, identity))
    const legacy = { ...NOTHING }
    for (const { id } of sessions) {
      if (ending?.kind === 'overdue') await this.#timeOut(worker, id, ending.items)
      const cause = causeOf(ending)
      const end = await this.#store.sessions.endSession(id, cause, { signature })
      if (end !== null && cause === 'crash') void this.#count(end)
      if (end !== null) void this.reportBlamed(worker, cause, end)
      legacy.inFlight ||= end !== null && (end.returned > 0 || end.blamed !== null)
      legacy.blamed ??= end?.blamed ?? null
      legacy.workerBroken ||= end?.workerBroken ?? false
    }
    return legacy
  }

  /** Nobody waits for it: what was lost is running again by then. */
  async #count({ returned, blamed }: SessionEnd): Promise<void> {
    try {
      const aside = blamed === null ? [] : await this.#putAside(blamed)
      await this.#store.admin.addMetrics([rescue('crash', returned), ...aside])
    } catch (error) {
      this.#logger.warn({ err: error }, 'a crash could not be counted')
    }
  }

  /** A crash is a failed attempt that no worker can report. */
  async reportBlamed(worker: string, cause: EndCause, { blamed }: SessionEnd): Promise<void> {
    if (cause === 'crash' && blamed !== null) await this.#report(worker, blamed)
  }

  async #report(worker: string, id: string): Promise<void> {
    if (this.#onReport === undefined) return
    try {
      const report = await reportOfFailure(this.#store, id)
      if (report !== null) this.#onReport(worker, report)
    } catch (error) {
      this.#logger.warn({ worker, err: error }, `the failure of ${id} could not be read`)
    }
  }

  /** Empty: it will be tried again. */
  async #putAside(id: string): Promise<Measured[]> {
    const row = readRowId(id)
    if (row === null) {
      const task = await this.#store.tasks.getTask(id)
      return task?.status === 'failed' ? [failedAttempt(task, 'crash', true)] : []
    }
    const { state } = (await this.#store.rows.getRow(row.discovery, row.key)) ?? {}
    return state === 'quarantined' ? [failedAttempt({ queue: null, name: row.discovery }, 'crash', true)] : []
  }

  /** Said in the name of its session, which nobody else can use any more. */
  async #timeOut(worker: string, session: string, items: OverdueItems): Promise<void> {
    for (const { item, fence, since } of items) {
      const [name, key] = parts(item)
      const task = await this.#store.tasks.getTask(key)
      const run = { fence, startedAt: since }
      // A key of a row may look like the id of a task.
      if (task?.name === name) {
        const outcomes = [{ ...run, id: task.id, outcome: this.#timedOut(name, task.attempts) }]
        await this.#store.tasks.exchange({
          session,
          starts: [],
          outcomes,
          progress: [],
          logs: [],
          want: null,
        })
        void this.#report(worker, task.id)
      } else {
        const attempts = (await this.#store.rows.getRow(name, key))?.attempts ?? 1
        const outcomes = [{ ...run, id: item, outcome: this.#timedOut(name, Math.max(1, attempts)) }]
        await this.#store.rows.exchangeRows({ session, starts: [], outcomes, want: null })
        void this.#report(worker, item)
      }
    }
  }

  #timedOut(name: string, attempt: number) {
    const message =
      'the handler ran longer than its time-out and blocked the event loop: its process was killed'
    const failure = { kind: 'timeout', message, stack: null } as const
    return { kind: 'failed', failure, retryAfterMs: this.#retryAfterMs(name, attempt) } as const
  }
}

type OverdueItems = Extract<Ending, { kind: 'overdue' }>['items']

/** It died and we did not ask it to, or it had to be killed because nothing was heard of it any more: a crash. */
function causeOf(ending: Ending | null): EndCause {
  return ending === null || ending.kind === 'hung' || ending.kind === 'start-up' ? 'crash' : 'stop'
}

/** A name holds no slash. */
function parts(item: string): [name: string, id: string] {
  const slash = item.indexOf('/')
  return [item.slice(0, slash), item.slice(slash + 1)]
}
