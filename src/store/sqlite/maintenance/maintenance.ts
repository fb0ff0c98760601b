import { resolve } from 'node:path'
import { StoreError } from '../../../errors.ts'
import type { Backup, BackupRecord, Finding, MaintenanceStore } from '../../ports/maintenance.ts'
import { repairFlows } from '../../scripts/flows/repair.ts'
import { pruneTasks } from '../../scripts/prune.ts'
import { checked } from '../../soundness.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Connection, Durability } from '../file/connection.ts'
import { driveOn } from '../file/scripts.ts'
import type { Memory } from '../memory.ts'
import { noteBackup, readBackups } from './backups.ts'
import { type JobAnswers, type MaintenanceJob, runJob } from './jobs.ts'
import { optimize } from './optimize.ts'
import { sqlitePruning } from './prune.ts'
import { findingsIn } from './soundness.ts'
import { giveBackUnreachable, moveToTheirLines } from './unreachable.ts'

export interface MaintenanceServices {
  connection: Connection
  memory: Memory
  scripts: Scripts
  now: () => number
  read<T>(look: () => T): Promise<T>
  write<T>(durability: Durability, change: () => T): Promise<T>
}

/** What it adds to the port. */
type Maintenance = Pick<
  MaintenanceStore,
  'pruneTasks' | 'check' | 'optimize' | 'checkpoint' | 'backup' | 'backups' | 'restore'
>

/** `settled`: jobs that began before the store was closed still run to their end. */
export function sqliteMaintenance({
  connection,
  memory,
  scripts,
  now,
  read,
  write,
}: MaintenanceServices): Maintenance & {
  settled(): Promise<unknown>
} {
  const db = connection.statements
  const database = connection.path
  const { library } = connection.driver
  const inMemory = database === ':memory:'
  const pruning = sqlitePruning(scripts.db)
  const underWay = new Set<Promise<unknown>>()

  const stillOpen = () => read(() => {})
  const job = async <C extends MaintenanceJob>(
    asked: C,
    onProgress?: Parameters<typeof runJob>[1],
  ): Promise<JobAnswers[C['kind']]> => {
    await stillOpen()
    const doing = runJob(asked, onProgress, library)
    underWay.add(doing)
    return doing.finally(() => underWay.delete(doing))
  }

  /** Records the backup, also if it failed: its schedule may rely on it. */
  async function noted(
    started: Pick<BackupRecord, 'path' | 'startedAt'>,
    make: () => Promise<Backup>,
  ): Promise<Backup> {
    const since = performance.now()
    const note = (how: Pick<BackupRecord, 'bytes' | 'error'>) =>
      // A backup that was made is not refused because its record could not be written.
      write('normal', () => noteBackup(db, { ...started, ...how, tookMs: performance.now() - since })).catch(
        () => {},
      )
    try {
      const made = await make()
      await note({ bytes: made.bytes, error: null })
      return made
    } catch (error) {
      await note({ bytes: null, error: (error as Error).message })
      throw error
    }
  }

  async function look(): Promise<Finding[]> {
    if (!inMemory) return job({ kind: 'check', database })
    await stillOpen()
    return findingsIn(connection)
  }

  return {
    pruneTasks: (retention, step) => pruneTasks(scripts, pruning, retention, step),
    check: () =>
      checked(look, () =>
        write('full', () => {
          giveBackUnreachable(db, memory, now())
          moveToTheirLines(db)
          driveOn(db, repairFlows())
        }),
      ),
    async optimize(options) {
      if (!inMemory) return job({ kind: 'optimize', database, options })
      await stillOpen()
      return optimize(connection, options)
    },
    async checkpoint() {
      if (!inMemory) return job({ kind: 'checkpoint', database })
      await stillOpen()
      return { complete: true }
    },
    async backup(path, { overwrite, onProgress }) {
      if (inMemory) throw notInMemory('backup')
      const startedAt = now()
      return noted({ path: resolve(path), startedAt }, () =>
        job({ kind: 'backup', database, path, overwrite, now: startedAt }, onProgress),
      )
    },
    backups: () => read(() => readBackups(db)),
    async restore(path, { leave, onProgress }) {
      if (inMemory) throw notInMemory('restore')
      await job({ kind: 'verify', path })
      await leave()
      await runJob({ kind: 'restore', database, path }, onProgress, library)
    },
    settled: () => Promise.allSettled(underWay),
  }
}

export function notInMemory(verb: string): StoreError {
  return new StoreError(`${verb}: the database is in memory`, {
    code: 'NOT_SUPPORTED',
    hint: 'Only a file has backups.',
  })
}
