import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { shown } from '../../../define/names.ts'
import { durationMs } from '../../../duration.ts'
import { GleanerError, InputError } from '../../../errors.ts'
import { declareOptions, refuseUnknown } from '../../../options.ts'
import type { SqliteLibrary } from '../../ports/database.ts'
import { betterSqlite3 } from './better-sqlite3.ts'
import type { SqliteDriver, SqliteSettings, SqliteTuning } from './driver.ts'
import { type NodeSqlite, nodeSqlite } from './node-sqlite.ts'
import { ownBetterSqlite3 } from './own-better-sqlite3.ts'

const OPTIONS = declareOptions<SqliteSettings>('sqlite', {
  driver: true,
  cacheSize: true,
  mmapSize: true,
  busyTimeout: true,
})

/** The first that can look at a log without copying it (`wal_checkpoint(NOOP)`). */
const SQLITE_MIN = [3, 51, 0] as const

const require = createRequire(import.meta.url)
let standard: SqliteLibrary | undefined

/** For everything that this thread opens without naming a library. */
export function setStandardLibrary(library: SqliteLibrary): void {
  standard = library
}

const loaded = new Map<string, SqliteDriver>()

/** Loads the library, once in each thread. */
export function loadDriver(library: SqliteLibrary = standardLibrary()): SqliteDriver {
  const key = nameOf(library)
  let driver = loaded.get(key)
  if (driver === undefined) {
    driver = load(library)
    loaded.set(key, driver)
  }
  return driver
}

/** better-sqlite3 runs many small tasks faster; the library of Node needs no installation (decision 46). */
function standardLibrary(): SqliteLibrary {
  standard ??= ownBetterSqlite3() === null ? 'node:sqlite' : 'better-sqlite3'
  return standard
}

export function nameOf(library: SqliteLibrary): string {
  return typeof library === 'string' ? library : library.module
}

/** What a user gave as `sqlite`. */
export function checkSqlite(settings: SqliteSettings): SqliteTuning & { library: SqliteLibrary | undefined } {
  refuseUnknown(settings, OPTIONS, 'sqlite')
  const { driver, cacheSize, mmapSize, busyTimeout } = settings
  return {
    library: driver === undefined ? undefined : checkLibrary(driver, 'sqlite.driver'),
    cacheBytes: checkBytes(cacheSize, 'sqlite.cacheSize', CACHE_MIN_BYTES),
    mmapBytes: checkBytes(mmapSize, 'sqlite.mmapSize', 0),
    busyLimitMs: busyTimeout === undefined ? undefined : durationMs(busyTimeout, 'sqlite.busyTimeout'),
  }
}

/** A transaction of our own touches some dozens of pages. */
const CACHE_MIN_BYTES = 256 * 1024
/** SQLite maps no more. */
const BYTES_MAX = 2 ** 31 - 65_536

function checkBytes(value: unknown, where: string, min: number): number | undefined {
  if (value === undefined) return undefined
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= BYTES_MAX)
    return value as number
  throw new InputError(`${where}: ${shown(value)} is not possible`, {
    code: 'BAD_OPTION',
    hint: `Use a whole number of bytes from ${min} to ${BYTES_MAX}.`,
  })
}

/** What a user gave as `sqlite.driver`; a relative path, or the name of a package, is looked for from `folder`. */
export function checkLibrary(value: unknown, where: string, folder = '.'): SqliteLibrary {
  if (value === 'better-sqlite3' || value === 'node:sqlite') return value
  const module = (value as { module?: unknown } | null)?.module
  if (typeof module !== 'string' || module === '')
    throw new InputError(`${where}: this is not a SQLite library`, {
      code: 'BAD_OPTION',
      hint: "Use 'better-sqlite3', 'node:sqlite', or { module: '/path/to/better-sqlite3' }.",
    })
  const base = createRequire(resolve(folder, 'gleaner'))
  try {
    return { module: base.resolve(module) }
  } catch (error) {
    throw notLoaded({ module }, error)
  }
}

function load(library: SqliteLibrary): SqliteDriver {
  let driver: SqliteDriver | null
  try {
    driver = driverOf(library, exportsOf(library))
  } catch (error) {
    throw notLoaded(library, error)
  }
  if (driver === null)
    throw notLoaded(library, new Error('it exports neither better-sqlite3 nor DatabaseSync'))
  return recentEnough(driver)
}

function exportsOf(library: SqliteLibrary): unknown {
  if (library === 'better-sqlite3') {
    const own = ownBetterSqlite3()
    if (own === null) throw new Error('it is not installed beside Gleaner, or belongs to another user')
    return require(own)
  }
  if (library !== 'node:sqlite') return require(library.module)
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (sqlite === undefined) throw new Error(`Node ${process.version} has none`)
  return sqlite
}

function driverOf(library: SqliteLibrary, found: unknown): SqliteDriver | null {
  const exported = found as Record<string, any>
  if (typeof exported.DatabaseSync === 'function') return nodeSqlite(exported as NodeSqlite, library)
  const Library = [exported, exported.default].find(
    (one) => typeof one === 'function' && typeof one.prototype?.pragma === 'function',
  )
  return Library === undefined ? null : betterSqlite3(Library as never, library)
}

function recentEnough(driver: SqliteDriver): SqliteDriver {
  const version = libraryVersionOf(driver)
  const isOlder = SQLITE_MIN.map((min, n) => Number(version.split('.')[n]) - min).find((by) => by !== 0) ?? 0
  if (isOlder >= 0) return driver
  throw new GleanerError(
    `${nameOf(driver.library)} is SQLite ${version}, Gleaner needs ${SQLITE_MIN.join('.')}`,
    {
      code: 'BAD_CONFIG',
      hint:
        driver.library === 'node:sqlite'
          ? 'Use Node 24, or install better-sqlite3: npm install better-sqlite3'
          : 'Update the library: npm install better-sqlite3@latest',
    },
  )
}

/** Of SQLite itself. */
export function libraryVersionOf(driver: SqliteDriver): string {
  const db = driver.open(':memory:', { readonly: false })
  try {
    return db.prepare('SELECT sqlite_version()').pluck().get() as string
  } finally {
    db.close()
  }
}

function notLoaded(library: SqliteLibrary, cause: unknown): GleanerError {
  const name = nameOf(library)
  return new GleanerError(`the SQLite library ${name} cannot be loaded: ${(cause as Error).message}`, {
    code: 'BAD_CONFIG',
    hint:
      library === 'node:sqlite'
        ? 'Use Node 22.18 or later.'
        : "Install it (npm install better-sqlite3), name the right path in sqlite.driver.module, or use 'node:sqlite'.",
    cause,
  })
}
