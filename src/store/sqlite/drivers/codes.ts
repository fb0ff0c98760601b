import { isInstanceOf, property } from '../../../thrown.ts'

/** https://www.sqlite.org/rescode.html */
const PRIMARY = [
  'OK',
  'ERROR',
  'INTERNAL',
  'PERM',
  'ABORT',
  'BUSY',
  'LOCKED',
  'NOMEM',
  'READONLY',
  'INTERRUPT',
  'IOERR',
  'CORRUPT',
  'NOTFOUND',
  'FULL',
  'CANTOPEN',
  'PROTOCOL',
  'EMPTY',
  'SCHEMA',
  'TOOBIG',
  'CONSTRAINT',
  'MISMATCH',
  'MISUSE',
  'NOLFS',
  'AUTH',
  'FORMAT',
  'RANGE',
  'NOTADB',
] as const

/** Of the extended ones, those that we tell apart. */
const EXTENDED: Readonly<Record<number, string>> = {
  1034: 'SQLITE_IOERR_FSYNC',
  1290: 'SQLITE_IOERR_DIR_FSYNC',
}

/**
 * `SQLITE_BUSY` and the like, whichever library reports it; undefined: the error is not SQLite's. It may have been thrown by the
 * user's code, inside our transaction: it can be anything.
 */
export function sqliteCode(error: unknown): string | undefined {
  if (!isInstanceOf(error, Error)) return undefined
  const code = property(error, 'code')
  if (typeof code !== 'string') return undefined
  if (code !== 'ERR_SQLITE_ERROR') return property(error, 'name') === 'SqliteError' ? code : undefined
  const number = Number(property(error, 'errcode'))
  return EXTENDED[number] ?? `SQLITE_${PRIMARY[number & 0xff] ?? 'ERROR'}`
}
