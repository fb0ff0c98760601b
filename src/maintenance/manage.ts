import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import type { Retention } from '../model/retention.ts'
import type { Store } from '../store/contract.ts'
import type {
  Backup,
  BackupRecord,
  Checkpointed,
  Finding,
  Optimized,
  UpkeepProgress,
} from '../store/upkeep.ts'
import type { Pruner } from './pruner.ts'
import { pruningOf, type RetentionOptions } from './retention.ts'

export interface ProgressOption {
  onProgress?: (progress: UpkeepProgress) => void
}

export interface MaintenanceManagement {
  /** A whole, verified copy of the database as of now, while everybody goes on. Never half a file under that name. */
  backup(path: string, options?: { overwrite?: boolean } & ProgressOption): Promise<Backup>
  /** Those that were made, or failed; the last ones first. On PostgreSQL they are not ours, and there are none. */
  backups(): Promise<BackupRecord[]>
  /** Checks the backup, closes this Gleaner, and puts the backup in place of its database. Refused while others use it. */
  restore(path: string, options?: ProgressOption): Promise<void>
  /** What is not as it must be; empty when all is well. */
  check(): Promise<Finding[]>
  /** Statistics for the planner, and free space given back where that is quick, or with `vacuum: true`. */
  optimize(options?: { vacuum?: boolean }): Promise<Optimized>
  /** The write-ahead log into the file. On PostgreSQL the server sees to it. */
  checkpoint(): Promise<Checkpointed>
  /** Removes finished tasks now: by the `retention` of this Gleaner, or by what is given here. */
  prune(
    options?: RetentionOptions,
    watch?: { onProgress?: (soFar: { removed: number }) => void },
  ): Promise<{ removed: number }>
}

export interface Caretaker {
  store: Store
  pruner: Pruner
  retention: Retention
  /** Stops and closes everything of this process. */
  close: () => Promise<void>
}

export function maintenanceManagement({ store, pruner, retention, close }: Caretaker): MaintenanceManagement {
  return {
    async backup(path, options = {}) {
      const { overwrite = false, onProgress } = known('backup', options, ['overwrite', 'onProgress'])
      checkFlag('backup: overwrite', overwrite)
      return store.backup(checkPath('backup', path), { overwrite, onProgress })
    },
    backups: () => store.backups(),
    async restore(path, options = {}) {
      const { onProgress } = known('restore', options, ['onProgress'])
      await store.restore(checkPath('restore', path), { leave: close, onProgress })
    },
    check: () => store.check(),
    async optimize(options = {}) {
      const { vacuum } = known('optimize', options, ['vacuum'])
      checkFlag('optimize: vacuum', vacuum ?? false)
      return store.optimize({ vacuum })
    },
    checkpoint: () => store.checkpoint(),
    async prune(options, watch = {}) {
      const { onProgress } = known('prune', watch, ['onProgress'])
      const keep = options === undefined ? retention : pruningOf(options)
      return { removed: await pruner.prune(keep, (removed) => onProgress?.({ removed })) }
    },
  }
}

export function checkPath(verb: string, path: unknown): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return path
  throw new InputError(`${verb}: ${shown(path)} is no path`, { code: 'BAD_OPTION', hint: 'Name a file.' })
}

export function known<O extends object>(verb: string, options: O, names: readonly string[]): O {
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return options
  throw new InputError(`${verb}: there is no option ${shown(unknown)}`, {
    code: 'BAD_OPTION',
    hint: `There are: ${names.join(', ')}.`,
  })
}

function checkFlag(what: string, value: unknown): void {
  if (typeof value === 'boolean') return
  throw new InputError(`${what}: ${shown(value)} is not possible`, {
    code: 'BAD_OPTION',
    hint: 'Use true or false.',
  })
}
