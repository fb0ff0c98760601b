import Database from 'better-sqlite3'
import { type ErrorCode, StoreError } from '../../../errors.ts'

/** Somebody else holds the lock: not an error, but a reason to try again. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code)
}

/** What was asked cannot be answered: a column is gone, a function fails on a value. Neither the lock nor the file is at fault. */
export function isUnanswerable(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(ERROR|MISMATCH|TOOBIG|RANGE)$/.test(error.code)
}

/** The file itself is at fault. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
}

const MEANINGS: readonly [pattern: RegExp, code: ErrorCode, hint: string][] = [
  [
    /^SQLITE_FULL/,
    'STORE_FULL',
    'The disk is full, or max_page_count is reached. Make room; nothing was written.',
  ],
  [
    /^SQLITE_(CORRUPT|NOTADB)/,
    'STORE_CORRUPT',
    'The file is damaged or no SQLite database. Restore a backup.',
  ],
  [/^SQLITE_CANTOPEN/, 'STORE_FAILED', 'Check that the folder exists and that this process may write to it.'],
  [/^SQLITE_READONLY/, 'STORE_FAILED', 'The file or its folder is read-only for this process.'],
  [/^SQLITE_IOERR/, 'STORE_FAILED', 'The operating system could not read or write the file; see the cause.'],
]

/** What SQLite says, in words of the store; anything that is not SQLite's passes unchanged. */
export function translated(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  const meaning = MEANINGS.find(([pattern]) => pattern.test(error.code))
  const [, code, hint] = meaning ?? [undefined, 'STORE_FAILED' as const, undefined]
  return new StoreError(`SQLite: ${error.message} (${error.code})`, { code, hint, cause: error })
}
