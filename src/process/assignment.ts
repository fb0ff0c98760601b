import type { PoolProgram } from '../config/types.ts'
import type { Capabilities } from '../model/capabilities.ts'
import type { Strategy } from '../model/queue.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { ReportLevel } from './work-report.ts'

/** What a supervisor tells a worker process that it starts: as JSON in its environment. */
export interface Assignment {
  /** The config file, which the worker loads itself: code cannot be handed over. */
  config: string
  /** `worker:<pool>:<index>`. */
  worker: string
  pool: string
  index: number
  incarnation: number
  supervisor: ProcessIdentity
  concurrency: number | null
  queues: readonly string[] | null
  discoveries: readonly string[] | null
  capabilities: Capabilities
  /** Queues that it serves in another order than the stored one. */
  strategies: Readonly<Record<string, Strategy>>
  /** Null: the default. */
  resourceErrorLimit: number | null
  /** A program in another language that does the work: the worker process is its bridge. */
  program: PoolProgram | null
  paused: boolean
  /** Items that its last lives ended on. */
  avoid: readonly string[]
  frameEveryMs: number
  /** A worker that is not ready by then is killed, and it counts. */
  startupMs: number
  /** What it reports of its work; null: nothing. */
  reports: ReportLevel | null
  /** It reports the files of code that it loads. */
  reportsFiles: boolean
}

const VARIABLE = 'GLEANER_WORKER'

export function assignmentEnv(assignment: Assignment): NodeJS.ProcessEnv {
  return { [VARIABLE]: JSON.stringify(assignment) }
}

/** Undefined: this process was not started by a supervisor. */
export function readAssignment(env: NodeJS.ProcessEnv = process.env): Assignment | undefined {
  const json = env[VARIABLE]
  return json === undefined ? undefined : (JSON.parse(json) as Assignment)
}
