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

/** What takes too long for the event loop. Crosses a thread boundary, so it is plain data. */
export type Chore =
  | { kind: 'check'; database: string }
  | { kind: 'checkpoint'; database: string }
  | { kind: 'optimize'; database: string; options: OptimizeOptions }
  | { kind: 'backup'; database: string; path: string; overwrite: boolean; now: number }
  | { kind: 'verify'; path: string }
  | { kind: 'restore'; database: string; path: string }
  | { kind: 'count-rows'; database: string; source: DiscoverySource; now: number }

/** What the thread is given. */
export interface ChoreOrder {
  chore: Chore
  /** Which opens the files. */
  library: SqliteLibrary
}

export interface ChoreAnswers {
  check: Finding[]
  checkpoint: Checkpointed
  optimize: Optimized
  backup: Backup
  verify: null
  restore: null
  'count-rows': RowCounts
}

/** Of an error only its words would survive the way between two threads. */
export interface PlainError {
  message: string
  code: ErrorCode
  hint: string | undefined
}

export type FromChore = { progress: UpkeepProgress } | { answer: unknown } | { error: PlainError }

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const THREAD = new URL(`./chore-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** Does it in a thread of its own, on connections of its own. */
export function doChore<C extends Chore>(
  chore: C,
  onProgress: (progress: UpkeepProgress) => void = () => {},
  library?: SqliteLibrary,
): Promise<ChoreAnswers[C['kind']]> {
  return new Promise((resolve, reject) => {
    const driver = loadDriver(library)
    for (const file of closedFiles(chore)) refuseSecondLibrary(file, driver)
    const thread = new Thread(THREAD, {
      workerData: { chore, library: driver.library } satisfies ChoreOrder,
      execArgv: [],
    })
    let last: FromChore | undefined
    let thrown: { error: unknown } | undefined
    thread.on('message', (message: FromChore) => {
      last = message
      if (!('progress' in message) || thrown !== undefined) return
      try {
        onProgress(message.progress)
      } catch (error) {
        // The caller's own, for the caller to see: here it would take the process down.
        thrown = { error }
      }
    })
    thread.once('error', reject)
    // Not at its last word: only when it is gone has it left the database.
    thread.once('exit', () => {
      if (thrown !== undefined) reject(thrown.error)
      else if (last !== undefined && 'answer' in last) resolve(last.answer as ChoreAnswers[C['kind']])
      else reject(failureOf(last))
    })
  })
}

/** Files that no store of this process has open, so that nothing has been checked yet. */
function closedFiles(chore: Chore): string[] {
  if (chore.kind === 'verify') return [chore.path]
  return chore.kind === 'restore' ? [chore.path, chore.database] : []
}

function failureOf(last: FromChore | undefined): StoreError {
  if (last !== undefined && 'error' in last) return new StoreError(last.error.message, last.error)
  return new StoreError('the thread of a maintenance job ended before the job was done', {
    code: 'STORE_FAILED',
  })
}
