import { Worker as Thread } from 'node:worker_threads'
import type { Phase, ProgramHealth } from '../model/worker.ts'
import { KEEPER_MEMORY, type StartKeeper } from '../worker/keeper/keeper.ts'
import type { Assignment } from './assignment.ts'
import type { Control } from './control.ts'
import { SharedRunTable } from './run-table.ts'
import { encodeReport, type WorkReport } from './work-report.ts'

/** What the process says of itself beside what runs. */
export interface ReportedHealth {
  /** `idle` becomes `processing` while something runs. */
  phase: Phase
  /** Nothing more is started. */
  paused: boolean
  /** Why it backs off; null: it does not. */
  reason: string | null
  /** Of the program that it hosts; null: it is not known; undefined: it hosts none, and its own memory counts. */
  rss?: number | null
  processed: number
  errors: number
  metrics: Record<string, number>
  /** What the program that it hosts says of itself. */
  program: ProgramHealth | null
}

export interface KeeperData {
  memory: SharedArrayBuffer
  componentId: string
  incarnation: number
  frameEveryMs: number
  /** What the monotonic clock of the process showed when the one of its first thread showed 0. */
  originMs: number
  turnEveryMs: number
}

export type FromHealthLine = { control: Control } | { orphaned: true }

const THREAD = new URL(`./keeper-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
const CONCURRENCY_DEFAULT = 10
/** How often the event loop says that it turns. */
const TURN_EVERY_MS = 1_000

/** The worker's side of its health pipe: the keeper's thread writes on it, and hears the supervisor. */
export class HealthLine {
  readonly board: SharedRunTable
  readonly #thread: Thread
  readonly #turning: NodeJS.Timeout

  constructor(
    { worker, incarnation, frameEveryMs, concurrency }: Assignment,
    hear: {
      control: (control: Control) => void
      orphaned: () => void
      /** The event loop has turned: once a second, as long as it does. */
      turned: () => void
    },
  ) {
    this.board = new SharedRunTable(concurrency ?? CONCURRENCY_DEFAULT)
    const originMs = monotonicMs() - performance.now()
    this.board.turned(monotonicMs())
    this.#turning = setInterval(() => {
      this.board.turned(monotonicMs())
      hear.turned()
    }, TURN_EVERY_MS).unref()
    const { memory } = this.board
    const workerData: KeeperData = {
      memory,
      componentId: worker,
      incarnation,
      frameEveryMs,
      originMs,
      turnEveryMs: TURN_EVERY_MS,
    }
    this.#thread = new Thread(THREAD, { workerData, execArgv: [], resourceLimits: KEEPER_MEMORY })
    this.#thread.on('message', (message: FromHealthLine) => {
      if ('control' in message) hear.control(message.control)
      else if ('orphaned' in message) hear.orphaned()
    })
  }

  say(said: ReportedHealth): void {
    this.#thread.postMessage({ said })
  }

  /** Nothing waits for it: a supervisor that does not read loses it. */
  report(report: WorkReport): void {
    this.#thread.postMessage({ report: encodeReport(report) })
  }

  /** The thread that writes the frames keeps the lease as well. */
  readonly startKeeper: StartKeeper = (renew) => {
    this.#thread.postMessage({ renew })
    return this.#thread
  }

  /** Without its keeper a worker is neither seen nor alive for others. */
  onFailure(fail: (error: unknown) => void): void {
    this.#thread.on('error', fail)
    this.#thread.on('exit', () => clearInterval(this.#turning))
  }
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
