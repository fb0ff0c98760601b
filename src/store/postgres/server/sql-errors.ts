import { type ErrorCode, GleanerError, StoreError } from '../../../errors.ts'

const NOT_REACHED = 'The server cannot be reached. It is tried again.'

/** By the code, or by the words where the driver gives no code. */
const MEANINGS: readonly [pattern: RegExp, code: ErrorCode, hint: string][] = [
  [/^(28P01|28000)$/, 'STORE_FAILED', 'The server refused the user or its password. Check the database URL.'],
  [
    /^3D000$/,
    'STORE_FAILED',
    'Create the database first (CREATE DATABASE …), or correct its name in the URL.',
  ],
  [/^42501$/, 'STORE_FAILED', 'The user needs CREATE on the database, or an existing schema that it owns.'],
  [/^(53100|53200)$/, 'STORE_FULL', 'The server has no room left. Nothing was written.'],
  [
    /^53300$/,
    'STORE_BUSY',
    'The server has no connection left: use a smaller poolSize, or raise max_connections.',
  ],
  [/^(55P03|57014)$/, 'STORE_BUSY', 'Somebody holds a lock for long; see pg_stat_activity and pg_locks.'],
  [
    /^timeout exceeded when trying to connect$/,
    'STORE_BUSY',
    'All connections of the pool are taken: use a greater poolSize.',
  ],
  [
    /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_)/,
    'STORE_FAILED',
    "The server's certificate was not accepted: give its authority as postgres: { ssl: { ca } }.",
  ],
  [
    /^The server does not support SSL connections$/,
    'STORE_FAILED',
    'Turn TLS on in the server, or leave ssl and sslmode away.',
  ],
  [
    /^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ECONNRESET|EPIPE|57P0[1235]|08\w\w\w)$/,
    'STORE_AWAY',
    NOT_REACHED,
  ],
]

/** Whether the connection, not the statement, failed: nobody knows whether a commit went through. */
export function isLostConnection(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: string; message?: string }
  return (
    /^(ECONNRESET|EPIPE|57P0[1235]|25P0[34]|08\w\w\w)$/.test(code ?? '') ||
    /connection terminated|not queryable|timeout expired/i.test(message ?? '')
  )
}

/** What PostgreSQL says, in words of the store; what it did not say (a handler's own error) stays what it is. */
export function translated(error: unknown): unknown {
  if (error instanceof GleanerError || !(error instanceof Error)) return error
  const { code = '' } = error as { code?: string }
  const known = meaningOf(error) !== undefined || /^[0-9A-Z]{5}$/.test(code) || isLostConnection(error)
  return known ? storeError(error) : error
}

/** Where nobody's code but the driver's was run: whatever it says, it is the store that failed. */
export function driverFailed(error: unknown): StoreError {
  return error instanceof StoreError ? error : storeError(error as Error)
}

function meaningOf(error: Error) {
  const { code = error.message } = error as { code?: string }
  return MEANINGS.find(([pattern]) => pattern.test(code))
}

/** Never holds the URL, which holds the password. */
function storeError(error: Error): StoreError {
  const { code = '', errors } = error as { code?: string; errors?: Error[] }
  const lost = isLostConnection(error)
  const [, meant, hint] = meaningOf(error) ?? [
    undefined,
    lost ? 'STORE_AWAY' : 'STORE_FAILED',
    lost ? NOT_REACHED : undefined,
  ]
  // A name with several addresses fails with one error for each, and no words of its own.
  const words = error.message || errors?.map(({ message }) => message).join(', ') || 'no connection'
  return new StoreError(`PostgreSQL: ${words}${code === '' ? '' : ` (${code})`}`, {
    code: meant as ErrorCode,
    hint,
    cause: error,
  })
}
