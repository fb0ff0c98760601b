import { CAUSES_MAX, type ErrorCode, markOutage, StoreError } from '../../../errors.ts'
import { property } from '../../../thrown.ts'
import { sqliteCode } from '../drivers/codes.ts'

function hasCode(error: unknown, pattern: RegExp): boolean {
  const code = sqliteCode(error)
  return code !== undefined && pattern.test(code)
}

/** Somebody else holds the lock: not an error, but a reason to try again. */
export function isBusy(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(BUSY|LOCKED)/)
}

/** What was asked cannot be answered: a column is gone, a function fails on a value. Neither the lock nor the file is at fault. */
export function isUnanswerable(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(ERROR|MISMATCH|TOOBIG|RANGE)$/)
}

/** The disk did not take what was written: none of it, and nothing before it that was not synced, is certain to be there. */
export function isSyncFailure(error: unknown): boolean {
  return hasCode(error, SYNC_FAILURE)
}

const SYNC_FAILURE = /^SQLITE_IOERR_(FSYNC|DIR_FSYNC)/
const SYNC_HINT =
  'Check the disk and the log of the kernel. What failed may or may not be stored; enqueue it again with the same key. Nothing is acknowledged until the log is written and synced anew, which each further write attempts.'

export function syncFailed(cause: unknown): StoreError {
  return new StoreError('the write-ahead log of the database could not be synced to the disk', {
    code: 'STORE_SYNC',
    hint: SYNC_HINT,
    cause,
  })
}

/** The file itself is at fault. */
export function isDamaged(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(CORRUPT|NOTADB)/)
}

/** The file, its disk or its lock is at fault, not the statement. */
export function isFileOutage(error: unknown): boolean {
  return hasCode(error, /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY|NOMEM|PROTOCOL)/)
}

/** What a callback of the user's threw may be wrapped around what SQLite said to it. */
export function markOutages(error: unknown): void {
  let one = error
  for (let depth = 0; depth < CAUSES_MAX && one !== undefined; depth++) {
    if (isFileOutage(one)) markOutage(one as object)
    one = property(one, 'cause')
  }
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
  [SYNC_FAILURE, 'STORE_SYNC', SYNC_HINT],
  [/^SQLITE_IOERR/, 'STORE_FAILED', 'The operating system could not read or write the file; see the cause.'],
]

/** What SQLite says, in words of the store; anything that is not SQLite's passes unchanged. */
export function translated(error: unknown): unknown {
  const sqlite = sqliteCode(error)
  if (sqlite === undefined) return error
  const meaning = MEANINGS.find(([pattern]) => pattern.test(sqlite))
  const [, code, hint] = meaning ?? [undefined, 'STORE_FAILED' as const, undefined]
  return new StoreError(`SQLite: ${(error as Error).message} (${sqlite})`, {
    code,
    hint,
    cause: error,
    isOutage: isFileOutage(error),
  })
}
