import { Worker as Thread } from 'node:worker_threads'
import { type ErrorCode, StoreError } from '../../../errors.ts'
import type { RowCounts } from '../../../model/row.ts'
import type { SqliteLibrary } from '../../ports/database.ts'
import type {
  Backup,
  Checkpointed,
  Finding,
  Optimized,
  OptimizeOptions,
  UpkeepProgress,
} from '../../ports/maintenance.ts'
import type { DiscoverySource } from '../../ports/rows.ts'
import { loadDriver } from '../drivers/load.ts'
import { refuseSecondLibrary } from '../drivers/second-library.ts'

/** Work that takes too long for the event loop. It crosses a thread boundary, so it is plain data. */
export type MaintenanceJob =
  | { kind: 'check'; database: string }
  | { kind: 'checkpoint'; database: string }
  | { kind: 'optimize'; database: string; options: OptimizeOptions }
  | { kind: 'backup'; database: string; path: string; overwrite: boolean; now: number }
  | { kind: 'verify'; path: string }
  | { kind: 'restore'; database: string; path: string }
  | { kind: 'count-rows'; database: string; source: DiscoverySource; now: number }

/** What the thread receives. */
export interface JobOrder {
  job: MaintenanceJob
  /** The library that opens the files. */
  library: SqliteLibrary
}

export interface JobAnswers {
  check: Finding[]
  checkpoint: Checkpointed
  optimize: Optimized
  backup: Backup
  verify: null
  restore: null
  'count-rows': RowCounts
}

/** Between two threads, an error would lose its class, its code and its hint. */
export interface PlainError {
  message: string
  code: ErrorCode
  hint: string | undefined
}

export type FromJob = { progress: UpkeepProgress } | { answer: unknown } | { error: PlainError }

/** Node strips no types inside node_modules. So the package has JavaScript, and the checkout has TypeScript. */
const THREAD = new URL(`./job-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** In a thread of its own, on connections of its own. */
export function runJob<C extends MaintenanceJob>(
  job: C,
  onProgress: (progress: UpkeepProgress) => void = () => {},
  library?: SqliteLibrary,
): Promise<JobAnswers[C['kind']]> {
  return new Promise((resolve, reject) => {
    const driver = loadDriver(library)
    for (const file of closedFiles(job)) refuseSecondLibrary(file, driver)
    const thread = new Thread(THREAD, {
      workerData: { job, library: driver.library } satisfies JobOrder,
      execArgv: [],
    })
    let last: FromJob | undefined
    let thrown: { error: unknown } | undefined
    thread.on('message', (message: FromJob) => {
      last = message
      if (!('progress' in message) || thrown !== undefined) return
      try {
        onProgress(message.progress)
      } catch (error) {
        // The error of the caller's callback is for the caller. Thrown here, it would end the process.
        thrown = { error }
      }
    })
    thread.once('error', reject)
    // Not at its last message: the thread has closed the database only when it has ended.
    thread.once('exit', () => {
      if (thrown !== undefined) reject(thrown.error)
      else if (last !== undefined && 'answer' in last) resolve(last.answer as JobAnswers[C['kind']])
      else reject(failureOf(last))
    })
  })
}

/** Files that no store of this process has open, so that nothing has been checked yet. */
function closedFiles(job: MaintenanceJob): string[] {
  if (job.kind === 'verify') return [job.path]
  return job.kind === 'restore' ? [job.path, job.database] : []
}

function failureOf(last: FromJob | undefined): StoreError {
  if (last !== undefined && 'error' in last) return new StoreError(last.error.message, last.error)
  return new StoreError('the thread of a maintenance job ended before the job was done', {
    code: 'STORE_FAILED',
  })
}
