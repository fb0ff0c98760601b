import type { Duration } from './duration-type.ts'
import { hasPrototype, property } from './thrown.ts'

/** Every code an error of Gleaner's can carry. Codes are part of the public contract. */
export type ErrorCode =
  | 'BACKUP_BAD'
  | 'BACKUP_EXISTS'
  | 'BAD_CONFIG'
  | 'BAD_CURSOR'
  | 'BAD_DATE'
  | 'BAD_DEFINITION'
  | 'BAD_DISCOVERY'
  | 'BAD_DONE'
  | 'BAD_DURATION'
  | 'BAD_INPUT'
  | 'BAD_KEY'
  | 'BAD_REQUIRES'
  | 'BAD_OPTION'
  | 'BAD_PRIORITY'
  | 'BAD_QUEUE'
  | 'BAD_SCHEDULE'
  | 'BATCH_GONE'
  | 'CHILD_FAILED'
  | 'CLAIM_LOST'
  | 'CLOSED'
  | 'DISCOVERY_PAUSED'
  | 'FLOW_CYCLE'
  | 'FLOW_TOO_DEEP'
  | 'FLOW_TOO_LARGE'
  | 'KEY_HELD'
  | 'NOT_IN_TRANSACTION'
  | 'NOT_JSON'
  | 'NOT_SUPPORTED'
  | 'NODE_TOO_OLD'
  | 'PERMANENT'
  | 'RESOURCE'
  | 'RESOURCE_ERRORS'
  | 'RESOURCE_LOAD'
  | 'RESOURCE_PROBE'
  | 'RESOURCE_UNLOAD'
  | 'RETRY_LATER'
  | 'RESULT_TOO_LARGE'
  | 'ROW_GONE'
  | 'ROW_STATE'
  | 'RUN_LIMIT'
  | 'RUN_STUCK'
  | 'SERVER_AWAY'
  | 'STEP_TIMEOUT'
  | 'STEP_TOO_LARGE'
  | 'STOPPED'
  | 'STORE_AWAY'
  | 'STORE_BUSY'
  | 'STORE_CORRUPT'
  | 'STORE_FAILED'
  | 'STORE_FULL'
  | 'STORE_IN_USE'
  | 'STORE_LOST'
  | 'STORE_MIGRATION'
  | 'STORE_MOVED'
  | 'STORE_NEWER'
  | 'STORE_NOT_EMPTY'
  | 'STORE_OTHER'
  | 'STORE_SYNC'
  | 'SUPERVISOR_RUNS'
  | 'TASK_CANCELLED'
  | 'TASK_FAILED'
  | 'SIGNAL_TIMEOUT'
  | 'SIGNAL_TOO_LARGE'
  | 'TASK_GONE'
  | 'TASK_STATE'
  | 'TIMEOUT'
  | 'TOO_LARGE'
  | 'TWO_SQLITES'
  | 'UNKNOWN_DISCOVERY'
  | 'UNKNOWN_SCHEDULE'
  | 'UNKNOWN_TASK'
  | 'UNKNOWN_WORKER'
  | 'WAIT_TIMEOUT'

/** What an error carries beside its message. */
export interface ErrorOptions {
  /** What went wrong, for programs. */
  code: ErrorCode
  /** What to do about it, in one sentence. */
  hint?: string
  /** The error that led to this one. */
  cause?: unknown
}

/** Shared by all copies of this package in a program, so that each recognises the other's errors. */
const BRAND = Symbol.for('gleaner.error')

/** What went wrong (`message`), why (`code`, `cause`), and what to do next (`hint`). */
export class GleanerError extends Error {
  /** What went wrong, for programs. It stays the same in later versions. */
  readonly code: ErrorCode
  /** What to do about it. The message ends with it. */
  declare readonly hint: string | undefined

  constructor(message: string, options: ErrorOptions) {
    // A field without a value would only be noise where the error is printed.
    super(
      options.hint ? `${message}. ${options.hint}` : message,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.name = new.target.name
    this.code = options.code
    if (options.hint !== undefined) this.hint = options.hint
  }
}

/** Input, options or definitions that cannot be accepted. Nothing was written. */
export class InputError extends GleanerError {
  /** Where in the input, as the schema says it: `items.0.path`. */
  readonly issues: readonly { path: string; message: string }[]

  constructor(message: string, options: ErrorOptions & { issues?: { path: string; message: string }[] }) {
    super(message, options)
    this.issues = options.issues ?? []
  }
}

/** The database refused, is away, full, newer than this code, or not ours. */
export class StoreError extends GleanerError {
  /** The connection broke before the answer came: what was asked for may have been done, or not. */
  readonly inDoubt: boolean
  /** The database failed, not what was asked of it. A handler that fails with such an error is charged no attempt. */
  readonly isOutage: boolean

  constructor(message: string, options: ErrorOptions & { inDoubt?: boolean; isOutage?: boolean }) {
    super(message, options)
    this.inDoubt = options.inDoubt ?? false
    this.isOutage = options.isOutage ?? OUTAGES.includes(options.code)
  }
}

const OUTAGES: readonly ErrorCode[] = ['STORE_AWAY', 'STORE_BUSY', 'STORE_CORRUPT', 'STORE_FULL']

/** Errors of a driver that reached the code of a user before the store could translate them. */
const driverOutages = new WeakSet<object>()

export function markOutage(error: object): void {
  driverOutages.add(error)
}

/** An error may be wrapped in others. Deeper than that nobody looks. */
export const CAUSES_MAX = 20

/** Whether the store failed, also if a handler has caught its error and thrown another one because of it. */
export function isOutage(error: unknown): boolean {
  let one = error
  for (let depth = 0; depth < CAUSES_MAX && typeof one === 'object' && one !== null; depth++) {
    if (driverOutages.has(one) || (one instanceof StoreError && property(one, 'isOutage') === true))
      return true
    one = property(one, 'cause')
  }
  return false
}

const REOPEN: readonly ErrorCode[] = ['STORE_MOVED', 'STORE_LOST', 'TWO_SQLITES']

/** What this process has open is not the database any more, or cannot be locked: only opening it anew helps. */
export function mustReopen(error: unknown): error is StoreError {
  return error instanceof StoreError && REOPEN.includes(error.code)
}

/** Whatever is asked of an engine that was closed. */
export function closedError(): StoreError {
  return new StoreError('Gleaner is closed', { code: 'CLOSED', hint: 'Open it again with openGleaner.' })
}

/** The claim on the item was lost: another holder may be running it. `ctx.signal` aborts with this. */
export class ClaimLostError extends GleanerError {
  constructor(message: string, cause?: unknown) {
    super(message, { code: 'CLAIM_LOST', cause })
  }
}

/** `ctx.signal.reason` when the handler ran longer than its `timeout`. */
export class TimeoutError extends GleanerError {
  constructor(timeoutMs: number) {
    super(`the handler ran longer than its time-out of ${timeoutMs} ms`, { code: 'TIMEOUT' })
  }
}

/** A call of a step's function took longer than the step's `timeout`. `step.signal.reason`, and what the step rejects with. */
export class StepTimeout extends GleanerError {
  constructor(step: string, timeoutMs: number) {
    super(`step ${step} took longer than its time-out of ${timeoutMs} ms`, {
      code: 'STEP_TIMEOUT',
      hint: 'Raise `timeout` of the step, or give it `retry`.',
    })
  }
}

/** What `ctx.waitFor` rejects with when no signal came in time. A later attempt gets the same answer. */
export class SignalTimeout extends GleanerError {
  constructor(signal: string) {
    super(`the signal ${signal} did not come in time`, {
      code: 'SIGNAL_TIMEOUT',
      hint: 'Catch it to go on without the signal, or raise `timeout` of ctx.waitFor.',
    })
  }
}

/** `ctx.signal.reason` when the worker stops and its drain time is over. */
export class StoppedError extends GleanerError {
  constructor() {
    super('the worker is stopping', { code: 'STOPPED' })
  }
}

/** `ctx.signal.reason` of a running task that was cancelled, and what `handle.result()` rejects with. */
export class TaskCancelled extends GleanerError {
  constructor(id: string) {
    super(`task ${id} was cancelled`, { code: 'TASK_CANCELLED' })
  }
}

/** Why a task failed. `crash` means quarantined: it took its worker down too often. */
export type FailureKind = 'error' | 'timeout' | 'crash' | 'permanent'

/** The task ended in `failed`; `kind` says why. */
export class TaskFailed extends GleanerError {
  /** Why it failed. */
  readonly kind: FailureKind
  constructor(id: string, error: { kind: FailureKind; message: string }) {
    super(`task ${id} failed (${error.kind}): ${error.message}`, { code: 'TASK_FAILED' })
    this.kind = error.kind
  }
}

/** The task does not exist (any more): it was removed, or never was. */
export class TaskGone extends GleanerError {
  constructor(id: string) {
    super(`there is no task ${id}`, {
      code: 'TASK_GONE',
      hint: 'It was removed, or the id belongs to another database.',
    })
  }
}

/** `handle.result({ timeout })` waited that long. The task continues. */
export class WaitTimeout extends GleanerError {
  constructor(id: string, timeoutMs: number) {
    super(`task ${id} did not finish within ${timeoutMs} ms`, {
      code: 'WAIT_TIMEOUT',
      hint: 'The task continues. Wait again with gleaner.handle(task, id).',
    })
  }
}

const ENDS = { failed: 'failed', cancelled: 'was cancelled', removed: 'was removed' } as const

/**
 * What `ctx.run` and `ctx.all` reject with if a child did not complete, and the result of a batch. If the handler does not catch it, its task
 * fails for good: the child had its own attempts.
 */
export class ChildFailed extends GleanerError {
  /** The id of the child. */
  readonly id: string
  /** The name of the child's task. */
  readonly child: string
  /** How the child ended. */
  readonly status: 'failed' | 'cancelled' | 'removed'
  /** The error of the child. Null if it has none. */
  readonly error: { kind: FailureKind; message: string; stack: string | null } | null

  constructor({ id, name, status, error }: ChildEnd) {
    const why = error === null ? '' : `: ${error.message}`
    super(`child ${id} (${name}) ${ENDS[status]}${why}`, { code: 'CHILD_FAILED' })
    this.id = id
    this.child = name
    this.status = status
    this.error = error
  }
}

interface ChildEnd {
  id: string
  name: string
  status: 'failed' | 'cancelled' | 'removed'
  error: { kind: FailureKind; message: string; stack: string | null } | null
}

/** The batch does not exist (any more): all of its tasks were removed, or it never was. */
export class BatchGone extends GleanerError {
  constructor(id: string) {
    super(`there is no batch ${id}`, {
      code: 'BATCH_GONE',
      hint: 'Its tasks were removed, or the id belongs to another database.',
    })
  }
}

/** Throw it in a handler: this failure is final, do not retry. */
export class PermanentError extends GleanerError {
  constructor(message: string, cause?: unknown) {
    super(message, { code: 'PERMANENT', cause })
  }
}

/** Throw it in a handler: not a failure, just not now. The attempt is returned. */
export class RetryLater extends GleanerError {
  /** When the item runs again. */
  readonly after: Duration
  constructor(after: Duration, reason = 'not now') {
    super(reason, { code: 'RETRY_LATER' })
    this.after = after
  }
}

/**
 * Throw it in a handler: the worker is broken, not the item. The attempt is returned and the item backs off; a worker that
 * meets too many of them in a row ends. Also what a resource fails with that cannot be probed, loaded or unloaded.
 */
export class ResourceError extends GleanerError {
  constructor(message: string, cause?: unknown, { code = 'RESOURCE', hint }: Partial<ErrorOptions> = {}) {
    super(message, { code, hint, cause })
  }
}

/** `instanceof`: an error of another copy is one of ours, because a handler may have been loaded with another copy. */
function isInstance(this: { prototype: object }, value: unknown): boolean {
  const brand = brandOf(this)
  return hasPrototype(value, (one) => {
    if (one === this.prototype) return true
    return brand !== undefined && Object.hasOwn(one, 'constructor') && brandOf(one.constructor) === brand
  })
}

function brandOf(type: object): unknown {
  return Object.hasOwn(type, BRAND) ? (type as { [BRAND]?: unknown })[BRAND] : undefined
}

for (const ours of [
  GleanerError,
  InputError,
  StoreError,
  ClaimLostError,
  SignalTimeout,
  StepTimeout,
  TimeoutError,
  StoppedError,
  TaskCancelled,
  TaskFailed,
  TaskGone,
  ChildFailed,
  BatchGone,
  WaitTimeout,
  PermanentError,
  RetryLater,
  ResourceError,
])
  Object.defineProperty(ours, BRAND, { value: ours.name })

// Inherited by all of them, and by what users derive from them, which have no brand and are only what they are.
Object.defineProperty(GleanerError, Symbol.hasInstance, { value: isInstance })
