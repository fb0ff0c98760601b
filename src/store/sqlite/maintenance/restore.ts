import { existsSync, rmSync } from 'node:fs'
import { StoreError } from '../../../errors.ts'
import type { UpkeepProgress } from '../../ports/maintenance.ts'
import { Connection } from '../file/connection.ts'
import { refuseForeignLink } from '../file/foreign-link.ts'
import { createFileFor } from '../file/new-file.ts'
import { isBusy, isDamaged } from '../file/sql-errors.ts'
import { COMPANIONS, isSameFile } from './database-files.ts'
import type { MaintenanceJob } from './jobs.ts'
import { verifyBackup } from './verify.ts'

const PAGES_PER_STEP = 512

/**
 * Writes the backup into the database's own file, in one transaction of SQLite's with a rollback journal: killed at any
 * moment, the next one who opens it finds the old database or the new one. No file changes its name, so whoever comes in
 * between cannot be left behind on a file that is gone; he waits for the lock.
 */
export async function replaceDatabase(
  { database, path }: Extract<MaintenanceJob, { kind: 'restore' }>,
  tell: (progress: UpkeepProgress) => void,
): Promise<void> {
  if (isSameFile(database, path)) {
    throw new StoreError(`${path} is the database itself`, { code: 'BACKUP_BAD', hint: 'Name a backup.' })
  }
  refuseForeignLink(database)
  tell({ phase: 'verifying', fraction: 0 })
  await verifyBackup(path)
  tell({ phase: 'verifying', fraction: 1 })
  const isNew = !existsSync(database)
  try {
    createFileFor(database, { copyOf: path })
    closeLog(database)
    await copyInto(database, path, tell)
  } catch (error) {
    if (isNew) for (const suffix of ['', ...COMPANIONS]) rmSync(`${database}${suffix}`, { force: true })
    throw error
  }
}

/**
 * Alone, or not at all: with the log on, everybody who has the database open holds a lock that keeps us from switching it
 * off. What it held is in the database then, and its files, stale ones too, are gone.
 */
function closeLog(database: string): void {
  const guard = new Connection(database)
  try {
    guard.raw.pragma('locking_mode = EXCLUSIVE')
    guard.raw.pragma('journal_mode = DELETE')
  } catch (error) {
    if (isBusy(error)) throw inUse(database)
    throw isDamaged(error) ? unreadable(database, error) : error
  } finally {
    guard.close()
  }
}

async function copyInto(
  database: string,
  path: string,
  tell: (progress: UpkeepProgress) => void,
): Promise<void> {
  const source = new Connection(path, { readonly: true })
  try {
    const { totalPages } = await source.raw.backup(database, {
      rate: PAGES_PER_STEP,
      progress({ totalPages, remainingPages }) {
        // From the first step on the lock is ours. Whoever was faster has switched the log on again.
        if (existsSync(`${database}-wal`)) throw inUse(database)
        tell({ phase: 'copying', fraction: 1 - remainingPages / totalPages })
        return PAGES_PER_STEP
      },
    })
    // Nothing was copied, because somebody else had the lock.
    if (totalPages === 0) throw inUse(database)
    tell({ phase: 'copying', fraction: 1 })
  } finally {
    source.close()
  }
}

function inUse(database: string): StoreError {
  return new StoreError(`${database} is in use`, {
    code: 'STORE_IN_USE',
    hint: 'Stop every process that has it open, SQL clients as well; nothing was changed.',
  })
}

function unreadable(database: string, cause: unknown): StoreError {
  return new StoreError(`${database} cannot be read as a database`, {
    code: 'STORE_CORRUPT',
    hint: 'Move it away, and restore again; nothing was changed.',
    cause,
  })
}
