import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import type { Retention } from '../model/retention.ts'
import { checkTypes, declareOptions, type Options, type Parts, refuseUnknown } from '../options.ts'
import type {
  Backup,
  BackupRecord,
  Checkpointed,
  Finding,
  MaintenanceStore,
  Optimized,
  UpkeepProgress,
} from '../store/ports/maintenance.ts'
import type { Pruner } from './pruner.ts'
import { pruningOf, type RetentionOptions } from './retention.ts'

/** An option of calls that take long. */
export interface ProgressOption {
  /** Called while it runs. */
  onProgress?: (progress: UpkeepProgress) => void
}

/** Care for the database. */
export interface MaintenanceManagement {
  /** Copies the database as of now and verifies the copy, while all processes continue. The file appears under its name only when it is complete. */
  backup(path: string, options?: { overwrite?: boolean } & ProgressOption): Promise<Backup>
  /** Backups that were made or failed, the newest first. Empty on PostgreSQL, where you back up with its own tools. */
  backups(): Promise<BackupRecord[]>
  /** Verifies the backup, closes this Gleaner, and replaces its database with the backup. Refused while another process has the database open. */
  restore(path: string, options?: ProgressOption): Promise<void>
  /** Checks the database and returns every problem found. Empty if it has none. */
  check(): Promise<Finding[]>
  /** Refreshes the statistics of the query planner, and returns free space to the disk if that is quick or if you pass `vacuum: true`. */
  optimize(options?: { vacuum?: boolean }): Promise<Optimized>
  /** Copies the write-ahead log into the database file. On PostgreSQL it has no effect, because the server does this itself. */
  checkpoint(): Promise<Checkpointed>
  /** Removes finished tasks now, by the options passed here or else by the `retention` of this Gleaner. */
  prune(
    options?: RetentionOptions,
    watch?: { onProgress?: (soFar: { removed: number }) => void },
  ): Promise<{ removed: number }>
}

export interface Caretaker {
  store: MaintenanceStore
  pruner: Pruner
  retention: Retention
  /** Stops and closes everything of this process. */
  close: () => Promise<void>
}

export function maintenanceManagement({ store, pruner, retention, close }: Caretaker): MaintenanceManagement {
  return {
    async backup(path, options = {}) {
      const { overwrite = false, onProgress } = known(options, BACKUP)
      checkFlag('backup: overwrite', overwrite)
      return store.backup(checkPath('backup', path), { overwrite, onProgress })
    },
    backups: () => store.backups(),
    async restore(path, options = {}) {
      const { onProgress } = known(options, RESTORE)
      await store.restore(checkPath('restore', path), { leave: close, onProgress })
    },
    check: () => store.check(),
    async optimize(options = {}) {
      const { vacuum } = known(options, OPTIMIZE)
      checkFlag('optimize: vacuum', vacuum ?? false)
      return store.optimize({ vacuum })
    },
    checkpoint: () => store.checkpoint(),
    async prune(options, watch = {}) {
      const { onProgress } = known(watch, PRUNE)
      const keep = options === undefined ? retention : pruningOf(options)
      return { removed: await pruner.prune(keep, (removed) => onProgress?.({ removed })) }
    },
  }
}

export function checkPath(verb: string, path: unknown): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return path
  throw new InputError(`${verb}: ${shown(path)} is not a path`, {
    code: 'BAD_OPTION',
    hint: 'Pass the path of a file.',
  })
}

const BACKUP = declareOptions<Parts<'overwrite' | 'onProgress'>>('backup', {
  overwrite: true,
  onProgress: true,
})
const RESTORE = declareOptions<Parts<'onProgress'>>('restore', { onProgress: true })
const OPTIMIZE = declareOptions<Parts<'vacuum'>>('optimize', { vacuum: true })
const PRUNE = declareOptions<Parts<'onProgress'>>('prune', { onProgress: true })

export function known<O extends object>(given: O, options: Options): O {
  refuseUnknown(given, options, options.of)
  checkTypes(given, { onProgress: 'function' }, options.of)
  return given
}

function checkFlag(what: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw new InputError(`${what}: ${shown(value)} is not valid`, {
    code: 'BAD_OPTION',
    hint: 'Use true or false.',
  })
}
