import { type ErrorCode, GleanerError, StoreError } from '../../errors.ts'

const MEANINGS: readonly [pattern: RegExp, code: ErrorCode, hint: string][] = [
  [/^(28P01|28000)$/, 'STORE_FAILED', 'The server refused the user or its password. Check the database URL.'],
  [
    /^3D000$/,
    'STORE_FAILED',
    'Create the database first (CREATE DATABASE …), or correct its name in the URL.',
  ],
  [/^42501$/, 'STORE_FAILED', 'The user needs CREATE on the database, or an existing schema that it owns.'],
  [/^(53100|53200)$/, 'STORE_FULL', 'The server has no room left. Nothing was written.'],
  [/^(55P03|57014)$/, 'STORE_BUSY', 'Somebody holds a lock for long; see pg_stat_activity and pg_locks.'],
  [
    /^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|ECONNRESET|EPIPE|57P0[123]|08\w\w\w)$/,
    'STORE_AWAY',
    'The server cannot be reached. It is tried again.',
  ],
]

/** Whether the connection, not the statement, failed: nobody knows whether a commit went through. */
export function isLostConnection(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  return (
    /^(ECONNRESET|EPIPE|57P0[123]|08\w\w\w)$/.test(code ?? '') ||
    /connection terminated|not queryable|timeout expired/i.test(message ?? '')
  )
}

/** What PostgreSQL says, in words of the store. Never holds the URL, which holds the password. */
export function translated(error: unknown): unknown {
  if (error instanceof GleanerError || !(error instanceof Error)) return error
  const { code = '' } = error as { code?: string }
  const meaning = MEANINGS.find(([pattern]) => pattern.test(code))
  if (meaning === undefined && !/^[0-9A-Z]{5}$/.test(code) && !isLostConnection(error)) return error
  const [, meant, hint] = meaning ?? [
    undefined,
    isLostConnection(error) ? 'STORE_AWAY' : 'STORE_FAILED',
    undefined,
  ]
  return new StoreError(`PostgreSQL: ${error.message}${code === '' ? '' : ` (${code})`}`, {
    code: meant as ErrorCode,
    hint,
    cause: error,
  })
}
