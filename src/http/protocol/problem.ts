import { type ErrorCode, GleanerError, InputError } from '../../errors.ts'
import { isInstanceOf } from '../../thrown.ts'
import type { ErrorBody, HttpErrorCode } from '../wire/types.ts'

type Code = ErrorCode | HttpErrorCode
type Issues = readonly { path: string; message: string }[]

/** An answer that is no success. */
export class Problem extends Error {
  readonly code: HttpErrorCode | ErrorCode
  readonly hint: string | null
  readonly issues: Issues
  readonly headers: Record<string, string>

  constructor(
    code: Code,
    message: string,
    hint: string | null,
    more: { issues?: Issues; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.code = code
    this.hint = hint
    this.issues = more.issues ?? []
    this.headers = more.headers ?? {}
  }
}

const STATUSES: Partial<Record<Code, number>> = {
  UNAUTHORIZED: 401,
  BATCH_GONE: 404,
  BAD_HOST: 403,
  CROSS_SITE: 403,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  ROW_GONE: 404,
  TASK_GONE: 404,
  UNKNOWN_DISCOVERY: 404,
  UNKNOWN_SCHEDULE: 404,
  UNKNOWN_TASK: 404,
  UNKNOWN_WORKER: 404,
  METHOD_NOT_ALLOWED: 405,
  CLAIM_LOST: 409,
  DISCOVERY_PAUSED: 409,
  KEY_HELD: 409,
  ROW_STATE: 409,
  STORE_IN_USE: 409,
  TASK_STATE: 409,
  RESULT_TOO_LARGE: 413,
  SIGNAL_TOO_LARGE: 413,
  TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  // What was sent is a request that we understand; the task's own schema does not want it.
  BAD_DONE: 422,
  BAD_INPUT: 422,
  NOT_SUPPORTED: 501,
  CLOSED: 503,
  STORE_AWAY: 503,
  STORE_BUSY: 503,
  STORE_LOST: 503,
  STORE_MOVED: 503,
  TWO_SQLITES: 503,
  STORE_SYNC: 503,
  TOO_BUSY: 503,
  STORE_FULL: 507,
}

export function httpStatusOf(code: Code): number {
  const status = STATUSES[code]
  if (status !== undefined) return status
  return code.startsWith('BAD_') || code === 'NOT_JSON' ? 400 : 500
}

/** Null: nobody foresaw it. What it says may be of no business of whoever asked, so he is not told. */
export function problemOf(error: unknown): Problem | null {
  if (isInstanceOf(error, Problem)) return error
  if (!(error instanceof GleanerError)) return null
  const issues = error instanceof InputError ? error.issues : []
  return new Problem(error.code, messageOf(error), error.hint ?? null, { issues })
}

/** The message of an error ends with its hint, which stands by itself here. */
function messageOf({ message, hint }: GleanerError): string {
  return hint !== undefined && message.endsWith(`. ${hint}`) ? message.slice(0, -hint.length - 2) : message
}

export const UNFORESEEN = new Problem(
  'INTERNAL',
  'the server failed',
  'The error is in the log of the server. Please report it.',
)

export const STORE_FAILED = new Problem(
  'STORE_FAILED',
  'the database failed',
  'The error is in the log of the server.',
)

export function problemBody({ code, message, hint, issues }: Problem): ErrorBody {
  return { error: { code, message, hint, ...(issues.length > 0 ? { issues } : {}) } }
}
