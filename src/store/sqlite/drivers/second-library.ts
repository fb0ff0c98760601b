import { readFileSync, realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { StoreError } from '../../../errors.ts'
import { openDescriptors, seen } from './descriptors.ts'
import type { SqliteDriver } from './driver.ts'
import { nameOf } from './load.ts'

/*
 * POSIX locks belong to the process. If two SQLite libraries (or two copies of one) have the same file open, each close of a
 * descriptor and each unlock by one of them takes away the locks of the other, and other processes write in between.
 */

const LOOK_EVERY_MS = 1_000
/** In a process with thousands of descriptors a look takes milliseconds: it may cost one part in 200 of the time. */
const LOOK_SHARE = 200
const MAPS = '/proc/self/maps'

/**
 * Whether a second SQLite library uses the file. All connections of one library share one descriptor on the `-shm` file, whatever
 * their number and their threads: two descriptors are two libraries.
 */
export class SecondLibrary {
  readonly path: string
  readonly driver: SqliteDriver
  #nextLookMs = Number.NEGATIVE_INFINITY

  /** @param path absolute, behind all symbolic links. */
  constructor(path: string, driver: SqliteDriver) {
    this.path = path
    this.driver = driver
    watched.add(this)
  }

  isThere(): boolean {
    const nowMs = performance.now()
    if (nowMs < this.#nextLookMs) return false
    const isThere = librariesUsing(this.path) > 1
    const tookMs = performance.now() - nowMs
    this.#nextLookMs = nowMs + Math.max(LOOK_EVERY_MS, tookMs * LOOK_SHARE)
    return isThere
  }

  close(): void {
    watched.delete(this)
  }
}

/** Of the connections of this thread. */
const watched = new Set<SecondLibrary>()

/** Before anything is opened: a library that opened the file and has not read it yet has no descriptor on `-shm`. */
export function refuseSecondLibrary(path: string, driver: SqliteDriver): void {
  if (descriptorsOn(path) === 0 || isWatched(realpathSync(path), driver)) return
  const other = otherLibrary(driver)
  if (other !== null)
    throw twoSqlites(
      path,
      `it is open in this process, where ${other} is loaded beside ${nameOf(driver.library)}`,
    )
}

/** The same library has it open and was looked at. */
function isWatched(path: string, driver: SqliteDriver): boolean {
  return [...watched].some((one) => one.path === path && one.driver === driver)
}

/** Native SQLite modules that this process has loaded; null: it cannot be seen here. */
export function nativeLibraries(): string[] | null {
  const maps = process.platform === 'linux' ? seen(() => readFileSync(MAPS, 'utf8')) : null
  if (maps === null) return null
  const found = new Map<string, string>()
  for (const line of maps.split('\n')) {
    // Address, rights, offset, device, inode, path.
    const [, , , device, inode, ...path] = line.split(/ +/)
    const name = path.join(' ')
    if (isSqlite(name)) found.set(`${device} ${inode}`, name)
  }
  return [...found.values()]
}

/** Folders above the package may have any name. */
function isSqlite(path: string): boolean {
  const place = path.lastIndexOf('/node_modules/')
  const name = place < 0 ? basename(path) : path.slice(place)
  return /(sqlite|libsql).*\.(node|so)/.test(name)
}

export function twoSqlites(path: string, why: string): StoreError {
  return new StoreError(`a second SQLite library in this process uses ${path}: ${why}`, {
    code: 'TWO_SQLITES',
    hint: "It would take away the locks of the other and damage the database. Open it with the app's own library: openGleaner({ database: connection }), or sqlite: { driver: 'node:sqlite' | 'better-sqlite3' | { module } }.",
  })
}

/** 0: it cannot be seen, or nobody has read the file. */
function librariesUsing(path: string): number {
  return descriptorsOn(`${path}-shm`)
}

/** Another one than the driver's; null: none is loaded. */
function otherLibrary({ library }: SqliteDriver): string | null {
  const isNodes = library === 'node:sqlite'
  const native = nativeLibraries()?.filter((name) => !isPartOfNode(name)) ?? []
  if (isNodes) return native[0] ?? null
  if (isNodeSqliteLoaded()) return 'node:sqlite'
  return native.length > 1 ? native.join(', ') : null
}

function isNodeSqliteLoaded(): boolean {
  const { moduleLoadList } = process as unknown as { moduleLoadList?: readonly string[] }
  return moduleLoadList?.includes('NativeModule sqlite') ?? false
}

/** Some distributions build Node with the library of the system. */
function isPartOfNode(name: string): boolean {
  const { node_shared_sqlite: isShared } = process.config.variables as { node_shared_sqlite?: unknown }
  return (isShared === true || isShared === 'true') && /libsqlite3\.so/.test(name)
}

function descriptorsOn(path: string): number {
  const file = seen(() => statSync(path))
  if (file === null) return 0
  return (openDescriptors() ?? []).filter(({ ino, dev }) => ino === file.ino && dev === file.dev).length
}
