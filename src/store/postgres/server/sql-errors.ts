import { type ErrorCode, GleanerError, markOutage, StoreError } from '../../../errors.ts'
import { isInstanceOf, messageOf, property } from '../../../thrown.ts'
import type { Queryable } from './sql.ts'

const NOT_REACHED =
  'The server cannot be reached. Check that it runs, and check the host and port in the database URL.'

/** By the code, or by the words where the driver gives no code. */
const MEANINGS: readonly [pattern: RegExp, code: ErrorCode, hint: string][] = [
  [
    /^(28P01|28000)$/,
    'STORE_FAILED',
    'The server refused the user or the password. Check both in the database URL.',
  ],
  [
    /^3D000$/,
    'STORE_FAILED',
    'Create the database with CREATE DATABASE, or correct its name in the database URL.',
  ],
  [
    /^42501$/,
    'STORE_FAILED',
    'Grant the user CREATE on the database, or create a schema that the user owns.',
  ],
  [
    /^(53100|53200)$/,
    'STORE_FULL',
    'The server has no disk space or memory left. Nothing was written. Free some, then retry.',
  ],
  [
    /^53300$/,
    'STORE_BUSY',
    'The server has no connection left for this user. Each process opens up to poolSize + 2. Use a smaller poolSize, or raise max_connections or the CONNECTION LIMIT of the role or database.',
  ],
  [
    /^(55P03|57014)$/,
    'STORE_BUSY',
    'Another transaction holds a lock for too long. Find it in pg_stat_activity and pg_locks.',
  ],
  [
    /^timeout exceeded when trying to connect$/,
    'STORE_BUSY',
    'All connections of the pool are in use. Use a larger postgres.poolSize.',
  ],
  [
    /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_)/,
    'STORE_FAILED',
    "Gleaner does not trust the server's certificate. Pass the certificate of its authority as postgres: { ssl: { ca } }.",
  ],
  [
    /^The server does not support SSL connections$/,
    'STORE_FAILED',
    'Turn on TLS in the server, or remove postgres.ssl and the sslmode of the database URL.',
  ],
  [
    /^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|ECONNRESET|EPIPE|57P0[1235]|08\w\w\w)$/,
    'STORE_AWAY',
    NOT_REACHED,
  ],
  [
    /^25006$/,
    'STORE_AWAY',
    'The server accepts no writes. If it is a standby, name all servers in the database URL, and Gleaner finds the primary. If the provider made the database read-only because the disk is full, free some space, then set default_transaction_read_only to off.',
  ],
]

/** The server does not accept writes any more: another one does, or will. */
const READ_ONLY = '25006'

/** Whether the connection, not the statement, failed: nobody knows whether a commit went through. */
export function isLostConnection(error: unknown): boolean {
  return (
    /^(ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|57P0[1235]|25P0[34]|25006|08\w\w\w)$/.test(
      textIn(error, 'code'),
    ) || /connection terminated|not queryable|timeout expired/i.test(textIn(error, 'message'))
  )
}

export function isReadOnly(error: unknown): boolean {
  return textIn(error, 'code') === READ_ONLY
}

/** Connections that were never made, by what became of them: nothing was asked there. */
const neverSent = new WeakMap<object, { isElsewhere: boolean }>()

/** `isElsewhere`: it is worth looking for the server again. */
export function asNeverSent(error: unknown, isElsewhere = false): unknown {
  if (typeof error === 'object' && error !== null) neverSent.set(error, { isElsewhere })
  return error
}

export function isElsewhere(error: unknown): boolean {
  return connecting(error)?.isElsewhere ?? false
}

/** The pool wraps what a connection failed with. */
function connecting(error: unknown): { isElsewhere: boolean } | undefined {
  const { cause } = (error ?? {}) as { cause?: object }
  return neverSent.get(error as object) ?? (cause instanceof Error ? neverSent.get(cause) : undefined)
}

/** Errors of statements that may have been committed. */
const inDoubt = new WeakSet<object>()

/** Rejects as `committing` does; when its answer was lost, that is remembered. */
export async function doubted<T>(committing: Promise<T>): Promise<T> {
  try {
    return await committing
  } catch (error) {
    if (isLostConnection(error) && !isReadOnly(error) && connecting(error) === undefined)
      inDoubt.add(error as object)
    throw error
  }
}

/** Errors of statements that a callback of the user's sent. */
const callbacks = new WeakSet<object>()

/** The server has no room, its machine failed, or its files are damaged. */
const SERVER_FAILED = /^(53|58|XX)/

/** The statements of a user's callback: an error of his own SQL is told from one of the server's. */
export function ofCallback(transaction: Queryable): Pick<Queryable, 'query'> {
  return {
    query: (text, values) =>
      transaction.query(text, values).catch((error) => {
        if (isLostConnection(error) || SERVER_FAILED.test(textIn(error, 'code'))) markOutage(error)
        else callbacks.add(error)
        throw error
      }),
  }
}

/** Constraints and triggers that are checked at the commit, values, and what follows an error that a callback has swallowed. */
const NOT_THE_SERVERS = /^(22|23|44|P0|25P02$)/

function isOutage(error: Error, code: string): boolean {
  return !callbacks.has(error) && !NOT_THE_SERVERS.test(code)
}

/** What PostgreSQL says, in words of the store; what it did not say (a handler's own error) stays what it is. */
export function translated(error: unknown): unknown {
  if (error instanceof GleanerError || !isInstanceOf(error, Error)) return error
  const isCode = /^[0-9A-Z]{5}$/.test(textIn(error, 'code'))
  const known = meaningOf(error) !== undefined || isCode || isLostConnection(error)
  return known ? storeError(error) : error
}

/** Where nobody's code but the driver's was run: whatever it says, it is the store that failed. */
export function driverFailed(error: unknown): StoreError {
  return error instanceof StoreError ? error : storeError(error as Error)
}

function meaningOf(error: Error) {
  const code = textIn(error, 'code') || textIn(error, 'message')
  return MEANINGS.find(([pattern]) => pattern.test(code))
}

/** Never holds the URL, which holds the password. */
function storeError(error: Error): StoreError {
  const code = textIn(error, 'code')
  const lost = isLostConnection(error)
  const [, meant, hint] = meaningOf(error) ?? [
    undefined,
    lost ? 'STORE_AWAY' : 'STORE_FAILED',
    lost ? NOT_REACHED : undefined,
  ]
  // A name with several addresses fails with one error for each, and no words of its own.
  const hasWords = textIn(error, 'message') !== '' || property(error, 'errors') !== undefined
  const words = hasWords ? messageOf(error) : 'the connection failed'
  return new StoreError(`PostgreSQL: ${words}${code === '' ? '' : ` (${code})`}`, {
    code: meant as ErrorCode,
    hint,
    cause: error,
    inDoubt: inDoubt.has(error),
    isOutage: isOutage(error, code),
  })
}

/** Empty when there is none: a handler's own error may pass through here, and can be anything. */
function textIn(error: unknown, name: 'code' | 'message'): string {
  const text = property(error, name)
  return typeof text === 'string' ? text : ''
}
