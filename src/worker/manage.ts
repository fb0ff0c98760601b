import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import type { WorkerRecord } from '../model/worker.ts'
import { isProvedDead } from '../process-identity.ts'
import type { LiveSession } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'
import type { WorkerAction } from '../store/ports/supervision.ts'
import { workersOf } from './supervisors.ts'
import type { Worker } from './worker.ts'
import { readReports, reportOf, type WorkerReport } from './worker-reports.ts'

/** The workers of all processes and hosts that use this database. */
export interface WorkerManagement {
  /** Supervised workers as their supervisor last reported them, and workers inside programs. */
  list(): Promise<WorkerRecord[]>
  /** Pauses one supervised worker, or all. Running items finish, nothing is claimed, and the processes stay alive. */
  pause(id?: string): Promise<void>
  /** Resumes one supervised worker, or all, and starts workers again that were given up. */
  resume(id?: string): Promise<void>
  /** Replaces the process without a gap. */
  restart(id?: string): Promise<void>
}

/** `own`: the workers of this process, about which nothing needs to be read. */
export function workerManagement(
  store: Pick<Store, 'sessions' | 'remote'>,
  own: () => Iterable<Worker>,
): WorkerManagement {
  const command = async (action: WorkerAction, id?: string) => {
    const supervisors = await store.sessions.supervisors()
    if (id === undefined) {
      await store.sessions.command({ action, worker: null, supervisor: null })
      return
    }
    const owner = supervisors.find((row) => workersOf(row, store).some((worker) => worker.id === id))
    if (owner === undefined) throw unknown(id)
    await store.sessions.command({ action, worker: id, supervisor: owner.name })
  }
  return {
    async list() {
      const supervised = (await store.sessions.supervisors()).flatMap((row) => workersOf(row, store))
      const sessions = await store.sessions.liveSessions()
      // One that is dead for certain does not work, though no sweeper has ended its session yet.
      const inside = sessions.filter(
        ({ supervisor, process }) => supervisor === null && !isProvedDead(process, store),
      )
      const reports = inside.length === 0 ? new Map() : await reportsOf(store, own())
      const shown = newestOf(inside).map((session) => recordOf(session, reports.get(session.id)))
      return [...supervised, ...shown]
    },
    pause: (id) => command('pause', id),
    resume: (id) => command('resume', id),
    restart: (id) => command('restart', id),
  }
}

/** A caller that pulls items by hand has a session for each batch that it holds. */
function newestOf(sessions: readonly LiveSession[]): LiveSession[] {
  const pulling = new Map(
    sessions.filter(({ leaseMs }) => leaseMs !== null).map((one) => [`${one.caller} ${one.worker}`, one]),
  )
  return [...sessions.filter(({ leaseMs }) => leaseMs === null), ...pulling.values()]
}

async function reportsOf(
  { sessions }: Pick<Store, 'sessions'>,
  own: Iterable<Worker>,
): Promise<Map<string, WorkerReport>> {
  const reports = readReports(await sessions.workerReports())
  for (const worker of own) if (worker.session !== null) reports.set(worker.session, reportOf(worker))
  return reports
}

/** A worker inside a program. Until its first report it is only known that it renews its session. */
function recordOf(
  { id, worker, process, caller, unavailable }: LiveSession,
  report?: WorkerReport,
): WorkerRecord {
  return {
    id: worker,
    pool: '',
    status: 'running',
    health: report?.health ?? 'healthy',
    phase: report?.phase ?? null,
    reason: lackOf(unavailable),
    pid: caller === null ? process.pid : null,
    host: process.host,
    incarnation: Number(id),
    current: report?.current ?? [],
    counters: report?.counters ?? null,
    program: null,
    restarts: { recent: 0, total: 0 },
    lastExit: null,
    rss: null,
    loopLagMs: null,
    lastFrameAt: null,
  }
}

function lackOf(unavailable: LiveSession['unavailable']): string | null {
  if (unavailable.length === 0) return null
  return `waits for ${unavailable.map(({ resource, reason }) => `${resource}: ${reason}`).join('; ')}`
}

function unknown(id: string): InputError {
  return new InputError(`there is no supervised worker ${shown(id)}`, {
    code: 'UNKNOWN_WORKER',
    hint: 'To list them, call `gleaner.workers.list()`. A worker inside a program of yours can only be paused by that program, or with `gleaner.pause()`.',
  })
}
