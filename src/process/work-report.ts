import type { FailureKind, LogLevel } from '../model/task.ts'

/** What a worker process tells its supervisor about its work, for the log: a line on the health pipe. */
export type WorkReport =
  | (ReportedItem & { kind: 'completed'; durationMs: number })
  /** `retryInMs`: null if no attempt follows. */
  | (ReportedItem & {
      kind: 'failed'
      durationMs: number | null
      error: ReportedError
      retryInMs: number | null
    })
  | (ReportedItem & { kind: 'cancelled' | 'returned' | 'changed' | 'gone' })
  | (ReportedItem & { kind: 'log'; level: LogLevel; message: string; details: string | null })
  /** So many reports of this worker were left out, because there were too many in a second. */
  | { kind: 'omitted'; count: number }
  /** Files of code that the process loaded. */
  | { kind: 'loaded'; files: readonly string[] }

/** The item that a report is about. */
export interface ReportedItem {
  /** The id of a task; of a row `<discovery>/<key>`. */
  id: string
  /** The name of the task or of the discovery. */
  name: string
  /** Null: a row. */
  queue: string | null
  /** The number of the attempt. */
  attempt: number
  /** Null: not known to the process that reports. */
  maxAttempts: number | null
}

/** Why an attempt failed. */
export interface ReportedError {
  /** The kind of failure. */
  kind: FailureKind
  /** The message of the error. */
  message: string
  /** Its stack, if there is one. */
  stack: string | null
}

export const REPORT_LEVELS = ['failures', 'completions', 'everything'] as const
/** Which reports a supervisor wants. Each level includes the ones before it. */
export type ReportLevel = (typeof REPORT_LEVELS)[number]

const FAILURE_KINDS: readonly FailureKind[] = ['error', 'timeout', 'crash', 'permanent']
const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

const PREFIX = 'REPORT|'
const TEXT_MAX = 1_000
const STACK_MAX = 4_000
const FILES_MAX = 200

export function encodeReport(report: WorkReport): string {
  return `${PREFIX}${JSON.stringify(report, (_key, value) => (typeof value === 'string' ? value.slice(0, STACK_MAX) : value))}\n`
}

/** Undefined: the line is no report. A handler can write to this pipe, so each field is checked. */
export function decodeReport(line: string): WorkReport | undefined {
  if (!line.startsWith(PREFIX)) return undefined
  try {
    return checked(JSON.parse(line.slice(PREFIX.length)))
  } catch {
    return undefined
  }
}

function checked(said: Record<string, unknown>): WorkReport | undefined {
  const { kind, durationMs, retryInMs, count, files } = said
  if (kind === 'omitted') return isNumber(count) ? { kind, count } : undefined
  if (kind === 'loaded')
    return Array.isArray(files) ? { kind, files: files.slice(0, FILES_MAX).map(String) } : undefined
  const item = checkedItem(said)
  if (item === undefined) return undefined
  switch (kind) {
    case 'completed':
      return isNumber(durationMs) ? { kind, ...item, durationMs } : undefined
    case 'failed': {
      const error = checkedError(said.error)
      return (
        error && { kind, ...item, durationMs: numberOr(durationMs), error, retryInMs: numberOr(retryInMs) }
      )
    }
    case 'log': {
      const level = LOG_LEVELS.find((one) => one === said.level) ?? 'info'
      const details = typeof said.details === 'string' ? said.details.slice(0, TEXT_MAX) : null
      return { kind, ...item, level, message: text(said.message), details }
    }
    case 'cancelled':
    case 'returned':
    case 'changed':
    case 'gone':
      return { kind, ...item }
    default:
      return undefined
  }
}

function checkedItem({
  id,
  name,
  queue,
  attempt,
  maxAttempts,
}: Record<string, unknown>): ReportedItem | undefined {
  if (typeof id !== 'string' || typeof name !== 'string' || !isNumber(attempt)) return undefined
  return {
    id: text(id),
    name: text(name),
    queue: typeof queue === 'string' ? text(queue) : null,
    attempt,
    maxAttempts: numberOr(maxAttempts),
  }
}

function checkedError(error: unknown): ReportedError | undefined {
  const { kind, message, stack } = (error ?? {}) as Record<string, unknown>
  const known = FAILURE_KINDS.find((one) => one === kind)
  if (known === undefined) return undefined
  return {
    kind: known,
    message: text(message),
    stack: typeof stack === 'string' ? stack.slice(0, STACK_MAX) : null,
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, TEXT_MAX) : ''
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function numberOr(value: unknown): number | null {
  return isNumber(value) ? value : null
}
