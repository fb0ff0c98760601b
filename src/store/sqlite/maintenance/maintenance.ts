import { resolve } from 'node:path'
import { StoreError } from '../../../errors.ts'
import type { Backup, BackupRecord, MaintenanceStore } from '../../ports/maintenance.ts'
import { repairFlows } from '../../scripts/flows/repair.ts'
import { pruneTasks } from '../../scripts/prune.ts'
import { checked } from '../../soundness.ts'
import type { Scripts } from '../../sql/scripts.ts'
import type { Connection, Durability } from '../file/connection.ts'
import { driveOn } from '../file/scripts.ts'
import { giveBackUnreachable, moveToTheirLines } from '../give-back/unreachable.ts'
import type { Memory } from '../tasks/memory.ts'
import { noteBackup, readBackups } from './backups.ts'
import { type JobAnswers, type MaintenanceJob, runJob } from './jobs.ts'
import { optimize } from './optimize.ts'
import { sqlitePruning } from './prune.ts'
import { findingsIn } from './soundness.ts'

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

/** Jobs in threads. Those that began before the store was closed run to their end. */
class Jobs {
  readonly #services: MaintenanceServices
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(services: MaintenanceServices) {
    this.#services = services
  }

  async run<C extends MaintenanceJob>(
    asked: C,
    onProgress?: Parameters<typeof runJob>[1],
  ): Promise<JobAnswers[C['kind']]> {
    const { connection, read } = this.#services
    // Refuses after the store was closed.
    await read(() => {})
    const doing = runJob(asked, onProgress, connection.driver.library)
    this.#underWay.add(doing)
    return doing.finally(() => this.#underWay.delete(doing))
  }

  settled(): Promise<unknown> {
    return Promise.allSettled(this.#underWay)
  }
}

/** A file is read in a thread, a database in memory at once. */
export function sqliteMaintenance(services: MaintenanceServices): Maintenance & Pick<Jobs, 'settled'> {
  const { connection, memory, scripts, now, read, write } = services
  const db = connection.statements
  const database = connection.path
  const isFile = database !== ':memory:'
  const pruning = sqlitePruning(scripts.db)
  const jobs = new Jobs(services)
  const findings = async () =>
    isFile ? jobs.run({ kind: 'check', database }) : read(() => {}).then(() => findingsIn(connection))
  return {
    pruneTasks: (retention, step) => pruneTasks(scripts, pruning, retention, step),
    check: () =>
      checked(findings, () =>
        write('full', () => {
          giveBackUnreachable(db, memory, now())
          moveToTheirLines(db)
          driveOn(db, repairFlows())
        }),
      ),
    optimize: (options) =>
      isFile
        ? jobs.run({ kind: 'optimize', database, options })
        : read(() => {}).then(() => optimize(connection, options)),
    checkpoint: () =>
      isFile ? jobs.run({ kind: 'checkpoint', database }) : read(() => ({ complete: true })),
    async backup(path, { overwrite, onProgress }) {
      if (!isFile) throw notInMemory('backup')
      const startedAt = now()
      const job = { kind: 'backup', database, path, overwrite, now: startedAt } as const
      return noted(services, { path: resolve(path), startedAt }, () => jobs.run(job, onProgress))
    },
    backups: () => read(() => readBackups(db)),
    async restore(path, { leave, onProgress }) {
      if (!isFile) throw notInMemory('restore')
      await jobs.run({ kind: 'verify', path })
      await leave()
      await runJob({ kind: 'restore', database, path }, onProgress, connection.driver.library)
    },
    settled: () => jobs.settled(),
  }
}

/** Records the backup, also if it failed: its schedule may rely on it. */
async function noted(
  { connection, write }: MaintenanceServices,
  started: Pick<BackupRecord, 'path' | 'startedAt'>,
  make: () => Promise<Backup>,
): Promise<Backup> {
  const since = performance.now()
  const note = (how: Pick<BackupRecord, 'bytes' | 'error'>) => {
    const record = { ...started, ...how, tookMs: performance.now() - since }
    // A backup that was made is not refused because its record could not be written.
    return write('normal', () => noteBackup(connection.statements, record)).catch(() => {})
  }
  try {
    const made = await make()
    await note({ bytes: made.bytes, error: null })
    return made
  } catch (error) {
    await note({ bytes: null, error: (error as Error).message })
    throw error
  }
}

export function notInMemory(verb: string): StoreError {
  return new StoreError(`${verb}: the database is in memory`, {
    code: 'NOT_SUPPORTED',
    hint: 'Only a file has backups.',
  })
}
