import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { StoreError } from '../../../errors.ts'
import { isRunning } from '../../../process-identity.ts'
import type { Backup, UpkeepProgress } from '../../ports/maintenance.ts'
import { endSession, readLiveSessions } from '../../scripts/sessions.ts'
import { Connection } from '../file/connection.ts'
import { createFileFor } from '../file/new-file.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import { sqliteHoldings } from '../give-back/holdings.ts'
import { DiscoveryCache } from '../rows/discovery-cache.ts'
import { emptyMemory } from '../tasks/memory.ts'
import { COMPANIONS, isSameFile, syncFile } from './database-files.ts'
import type { MaintenanceJob } from './jobs.ts'
import { verifyBackup } from './verify.ts'

type Tell = (progress: UpkeepProgress) => void

/** 2 MB: progress is told after each. */
const PAGES_PER_STEP = 512

/**
 * Page by page into a file beside the final name, which gets that name when it is whole, synced and was opened and checked.
 * Not VACUUM INTO: it would number anew the rows of those tables of the app's that have no key of their own.
 */
export async function copyDatabaseFile(
  { database, path, overwrite, now }: Extract<MaintenanceJob, { kind: 'backup' }>,
  tell: Tell,
): Promise<Backup> {
  refusePlace(database, path, overwrite)
  removeLeftovers(path)
  const partial = `${path}.${partialMark()}${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    createFileFor(partial, { copyOf: database })
    await copyPages(database, partial, tell)
    tell({ phase: 'verifying', fraction: 0 })
    await settle(partial, now)
    await verifyBackup(partial)
    syncFile(partial)
    putInPlace(partial, path, overwrite)
  } catch (error) {
    for (const suffix of ['', ...COMPANIONS]) rmSync(`${partial}${suffix}`, { force: true })
    throw error
  }
  tell({ phase: 'verifying', fraction: 1 })
  return { path, bytes: statSync(path).size, startedAt: now }
}

function refusePlace(database: string, path: string, overwrite: boolean): void {
  if (!existsSync(dirname(path))) {
    throw new StoreError(`backup: there is no folder for ${path}`, {
      code: 'STORE_FAILED',
      hint: 'Create it first.',
    })
  }
  if (isSameFile(database, path) || COMPANIONS.some((suffix) => isSameFile(`${database}${suffix}`, path))) {
    throw new StoreError(`backup: ${path} is the database itself`, {
      code: 'BACKUP_EXISTS',
      hint: 'Give the backup a name of its own.',
    })
  }
  if (existsSync(path) && !overwrite) throw exists(path)
  const companion = COMPANIONS.find((suffix) => existsSync(`${path}${suffix}`))
  if (companion === undefined) return
  throw new StoreError(`backup: there is a ${path}${companion}`, {
    code: 'BACKUP_EXISTS',
    hint: 'A process has an older backup of this name open, or was killed while it had. Close that process, remove the file, or choose another name.',
  })
}

function exists(path: string): StoreError {
  return new StoreError(`backup: ${path} exists`, {
    code: 'BACKUP_EXISTS',
    hint: 'Choose another name, or pass { overwrite: true } (--overwrite).',
  })
}

/** On one snapshot: writers go on, and cannot make it begin again. */
async function copyPages(database: string, partial: string, tell: Tell): Promise<void> {
  const source = new Connection(database)
  try {
    await source.read(() => {
      source.raw.exec('BEGIN')
      source.raw.prepare('SELECT count(*) FROM sqlite_schema').get()
    })
    await source.raw.backup(partial, {
      rate: PAGES_PER_STEP,
      progress({ totalPages, remainingPages }) {
        tell({ phase: 'copying', fraction: 1 - remainingPages / totalPages })
        return PAGES_PER_STEP
      },
    })
    tell({ phase: 'copying', fraction: 1 })
  } finally {
    source.close()
  }
}

/**
 * Workers of the original live on, on this machine perhaps: their processes would be found alive by whoever opens the copy.
 * So their sessions end in it, as if they had been stopped, and what they held goes back. One file, without a log beside it.
 */
async function settle(partial: string, now: number): Promise<void> {
  const copy = new Connection(partial)
  try {
    const db = copy.statements
    const memory = emptyMemory(db, Math.random)
    const holdings = sqliteHoldings(memory, new DiscoveryCache(db))
    const dialect = sqliteDialect(() => now)
    await copy.transaction(() => {
      memory.queues.knowing()
      for (const { id } of driveOn(db, readLiveSessions(dialect)))
        driveOn(db, endSession(dialect, holdings, { id: Number(id), cause: 'stop' }))
    })
    copy.raw.pragma('journal_mode = DELETE')
  } finally {
    copy.close()
  }
}

function putInPlace(partial: string, path: string, overwrite: boolean): void {
  if (overwrite) renameSync(partial, path)
  else linkInPlace(partial, path)
  // Otherwise a power cut may take the name away. Not every system lets one do it.
  try {
    syncFile(dirname(path))
  } catch {}
}

/** A link never replaces anything, whoever was faster; a rename does. */
function linkInPlace(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || existsSync(path)) throw exists(path)
    // A file system without links.
    return renameSync(partial, path)
  }
  rmSync(partial)
}

function partialMark(): string {
  return `partial-${hostname().replaceAll(/\W/g, '_')}-`
}

/** Of backups to this name whose process was killed. */
function removeLeftovers(path: string): void {
  const beginning = `${basename(path)}.${partialMark()}`
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(beginning)) continue
    const pid = Number.parseInt(name.slice(beginning.length), 10)
    if (!isRunning(pid)) rmSync(join(dirname(path), name), { force: true })
  }
}
