import { loadConfig } from '../config/load.ts'
import { openStoreOf } from '../config/open-store.ts'
import { mustHavePools } from '../config/pools.ts'
import type { Duration } from '../duration.ts'
import { InputError } from '../errors.ts'
import type { HealthChange } from '../health/status.ts'
import type { WorkerRecord } from '../model/worker.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import { REPORT_LEVELS, type ReportLevel, type WorkReport } from '../process/work-report.ts'
import type { Store } from '../store/ports/store.ts'
import { describeValue } from '../thrown.ts'
import type { Supervisor } from './contract.ts'
import { type Logger, SILENT } from './logger.ts'
import { type Started, startSupervision } from './starting.ts'

const OPTIONS = declareOptions<StartSupervisorOptions>('startSupervisor', {
  config: true,
  name: true,
  logger: true,
  reports: true,
})

/** What `startSupervisor` takes. */
export interface StartSupervisorOptions {
  /** The config file. Each worker process loads it. Default: the nearest `gleaner.config.ts`, from the working directory upwards. */
  config?: string
  /** The name of the supervisor. A database has one running supervisor of each name. Default: the name in the config, or that of the host. */
  name?: string
  /** Where to log, for example a `pino` logger. Default: nowhere. */
  logger?: Logger
  /** Which reports of their work the workers send to `on('report', …)`. Default `'failures'`. */
  reports?: ReportLevel
}

/** What a supervisor reports to `on`. */
export interface SupervisorEvents {
  /** A worker's record changed: its status, phase, process or current item. */
  worker: WorkerRecord
  /** The health of a worker changed. */
  health: HealthChange
  /** A worker reports an attempt that failed. With `reports`, also other ends and log lines. */
  report: { worker: string; report: WorkReport }
}

/** A supervisor that runs in this process, and the worker processes that it owns. */
export interface RunningSupervisor {
  /** Its name in this database. */
  readonly name: string
  /** Resolves when the supervisor has ended: it was stopped, or another one of its name has taken over. */
  readonly ended: Promise<void>
  /** All workers, as they are now. */
  status(): WorkerRecord[]
  /** One worker, as it is now. */
  status(id: string): WorkerRecord
  /** Running items finish, and nothing more is claimed. Processes stay alive. The pause lasts beyond a restart. Default: all workers. */
  pause(id?: string): void
  /** Ends a pause, and starts workers again that were given up. Default: all workers. */
  resume(id?: string): void
  /** Replaces worker processes one by one. The new process is ready before the old one leaves. Default: all workers. */
  restart(id?: string): Promise<void>
  /** Stops the workers and the supervisor. Running items get the time `drain` to finish. A second call with a shorter time hurries the first. */
  stop(options?: { drain?: Duration }): Promise<void>
  /** Calls the listener on each event. Returns a function that unsubscribes. */
  on<E extends keyof SupervisorEvents>(event: E, listener: (event: SupervisorEvents[E]) => void): () => void
  /** `await using` stops the supervisor. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts the worker processes of a config and keeps them alive, as `gleaner start` does, without a server. Rejects with
 * `SUPERVISOR_RUNS` while another supervisor of this name runs on the database.
 */
export async function startSupervisor(options: StartSupervisorOptions = {}): Promise<RunningSupervisor> {
  const { config: path, name, logger = SILENT, reports = 'failures' } = checked(options)
  const config = await loadConfig(path)
  mustHavePools(config)
  const store = await openStoreOf(config)
  const listeners = new Listeners(logger)
  try {
    const started = await startSupervision(store, config, {
      name,
      logger,
      reports,
      onReport: (worker, report) => listeners.tell('report', { worker, report }),
      onChange: (worker) => listeners.tell('worker', worker),
    })
    started.monitor.on('change', (change) => listeners.tell('health', change))
    return running(started, store, listeners)
  } catch (error) {
    await store.close()
    throw error
  }
}

function running({ supervisor, close }: Started, store: Store, listeners: Listeners): RunningSupervisor {
  // It may also end by itself, when another supervisor has taken over.
  const ended = supervisor.ended.then(close).finally(() => store.close())
  ended.catch(() => {})
  const stop = async (options?: { drain?: Duration }) => {
    await supervisor.stop(options)
    await ended
  }
  return {
    name: supervisor.name,
    ended,
    status: ((id?: string) => (id === undefined ? supervisor.workers() : workerOf(supervisor, id))) as any,
    pause: (id) => supervisor.pause(id),
    resume: (id) => supervisor.resume(id),
    restart: (id) => supervisor.restart(id),
    stop,
    on: (event, listener) => listeners.on(event, listener),
    [Symbol.asyncDispose]: () => stop(),
  }
}

function workerOf(supervisor: Supervisor, id: string): WorkerRecord {
  // It throws for a worker that does not exist.
  supervisor.getStatus(id)
  return supervisor.workers().find((worker) => worker.id === id)!
}

function checked(options: StartSupervisorOptions): StartSupervisorOptions {
  if (typeof options !== 'object' || options === null)
    throw bad('startSupervisor', options, "{ config: './gleaner.config.ts' }")
  refuseUnknown(options, OPTIONS, 'startSupervisor')
  const { config, name, reports } = options
  if (config !== undefined && typeof config !== 'string')
    throw bad('config', config, 'the path of a config file')
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw bad('name', name, 'a name')
  if (reports !== undefined && !REPORT_LEVELS.includes(reports))
    throw bad('reports', reports, REPORT_LEVELS.join(', '))
  return options
}

function bad(what: string, value: unknown, expected: string): InputError {
  return new InputError(`${what}: ${describeValue(value)} does not fit`, {
    code: 'BAD_OPTION',
    hint: `Use ${expected}.`,
  })
}

type Listener<E extends keyof SupervisorEvents> = (event: SupervisorEvents[E]) => void

/** A listener that throws harms neither the supervisor nor the other listeners. */
class Listeners {
  readonly #logger: Logger
  readonly #all: { [E in keyof SupervisorEvents]: Set<Listener<E>> } = {
    worker: new Set(),
    health: new Set(),
    report: new Set(),
  }

  constructor(logger: Logger) {
    this.#logger = logger
  }

  on<E extends keyof SupervisorEvents>(event: E, listener: Listener<E>): () => void {
    const listeners = this.#all[event]
    if (listeners === undefined) throw bad('on', event, Object.keys(this.#all).join(', '))
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  tell<E extends keyof SupervisorEvents>(event: E, about: SupervisorEvents[E]): void {
    for (const listener of [...this.#all[event]]) {
      try {
        listener(about)
      } catch (error) {
        this.#logger.error({ err: error }, `a listener for ${event} threw an error`)
      }
    }
  }
}
