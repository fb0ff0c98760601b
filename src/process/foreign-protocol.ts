import { readExactly, writable, writeExactly } from '../exact-json.ts'
import type { LogLevel } from '../model/task.ts'

/** What a program is told of one task or row. */
export interface ItemForProgram {
  id: string
  input: unknown
  attempt: number
  fence: number
  /** It was in flight when a worker crashed: it runs alone, until it is known which item was to blame. */
  suspect: boolean
  /** When its time is over, in ms since 1970. */
  deadline_ms: number
}

/** What a program in another language is told, on a line of its stdin. */
export type ToProgram =
  | ({ type: 'run'; name: string } & ItemForProgram)
  /** Only to a program that takes batches. Its id is answered for all items, or each item by its own id. */
  | { type: 'batch'; id: string; name: string; items: readonly ItemForProgram[] }
  /** What it asked of a step. `do`: the step is to be done, and then kept. */
  | { type: 'do'; id: string; name: string }
  | { type: 'kept'; id: string; name: string; result: unknown }
  | { type: 'slept'; id: string; name: string }
  | { type: 'signal'; id: string; name: string; payload: unknown }
  | { type: 'timed_out'; id: string; name: string }
  /** The run waits, and is over: the item is run again later. Nothing more is heard of this run. */
  | { type: 'leave'; id: string }
  | { type: 'cancel'; id: string; reason: 'cancelled' | 'timeout' | 'stopping' | 'lost' }
  | { type: 'stop' }

/** `kind`: `resource` says that the worker is broken, and not the item. */
export const FAILURE_KINDS = ['error', 'permanent', 'resource'] as const

export interface FailedByProgram {
  type: 'failed'
  id: string
  message: string
  stack: string | null
  retry: number | false | null
  kind: (typeof FAILURE_KINDS)[number]
}

/** What it answers, on a line of its stdout. */
export type FromProgram =
  | { type: 'done'; id: string; result: unknown }
  /** `retry`: null: as the task's policy says; false: never; or after that many ms. */
  | FailedByProgram
  | { type: 'progress'; id: string; fraction: number; message: string | undefined }
  | { type: 'log'; id: string; level: LogLevel; message: string; details: object | undefined }
  | DurableMessage

/** What a program asks of the steps of its run. */
export type DurableMessage =
  | { type: 'step'; id: string; name: string }
  | { type: 'keep'; id: string; name: string; result: unknown }
  | { type: 'sleep'; id: string; name: string; ms: number }
  | { type: 'wait'; id: string; name: string; timeoutMs: number | null }

/** A line that is no message: what the program prints besides. */
export type Other = { type: 'other' }
/** A line that wants to be a message and is none. */
export type Bad = { type: 'bad'; why: string }

const PREFIX = 'TASK|'
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
const RETRY_MAX_MS = 3650 * 86_400_000

export function encodeMessage(message: ToProgram): string {
  return `${PREFIX}${JSON.stringify(message, plain)}\n`
}

/** A row may hold what JSON has no words for: a large integer is written as one, bytes in base64. */
function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  // What it is before its own toJSON has been asked.
  const held = this[key]
  return held instanceof Uint8Array ? Buffer.from(held).toString('base64') : writable(value)
}

export function decodeMessage(line: string): FromProgram | Other | Bad {
  if (!line.startsWith(PREFIX)) return { type: 'other' }
  const said = parsed(line.slice(PREFIX.length))
  if (said === undefined) return bad('it is not a JSON object')
  const id = typeof said.id === 'number' || typeof said.id === 'bigint' ? String(said.id) : said.id
  if (typeof id !== 'string' || id === '') return bad('it has no id')
  switch (said.type) {
    case 'done':
      return { type: 'done', id, result: said.result ?? null }
    case 'failed':
      return failed(id, said)
    case 'progress':
      return typeof said.fraction === 'number' && said.fraction >= 0 && said.fraction <= 1
        ? { type: 'progress', id, fraction: said.fraction, message: text(said.message) }
        : bad('fraction is not a number from 0 to 1')
    case 'log':
      return {
        type: 'log',
        id,
        level: LEVELS.find((level) => level === said.level) ?? 'info',
        message: text(said.message) ?? '',
        details: isObject(said.details) ? said.details : undefined,
      }
    default:
      return durable(id, said) ?? bad(`type is not one of ${TYPES.join(', ')}`)
  }
}

const TYPES = ['done', 'failed', 'progress', 'log', 'step', 'keep', 'sleep', 'wait']

/** Undefined: it is not about a step. */
function durable(id: string, said: Record<string, unknown>): DurableMessage | Bad | undefined {
  const { type, result = null, ms, timeout_ms: timeoutMs = null } = said
  if (type !== 'step' && type !== 'keep' && type !== 'sleep' && type !== 'wait') return undefined
  const name = text(said.name)
  if (name === undefined) return bad('it has no name')
  switch (type) {
    case 'step':
      return { type, id, name }
    case 'keep':
      return { type, id, name, result }
    case 'sleep':
      return isTime(ms) ? { type, id, name, ms } : bad('ms is not a number of milliseconds')
    case 'wait':
      if (timeoutMs === null || isTime(timeoutMs)) return { type, id, name, timeoutMs }
      return bad('timeout_ms is not a number of milliseconds')
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= RETRY_MAX_MS
}

/** Whose answer a line was that is too long to be read: its beginning may tell. */
export function idInHead(head: string): string | undefined {
  const [, quoted, plain] = /^TASK\|.*?"id"\s*:\s*(?:"([^"]+)"|(\d+))/s.exec(head) ?? []
  return quoted ?? plain
}

/** `error`: a text, or { message, stack, kind }. */
function failed(id: string, { error, retry, kind: of }: Record<string, unknown>): FromProgram | Bad {
  const described: Record<string, unknown> = isObject(error)
    ? { kind: of, ...error }
    : { message: error, kind: of }
  const message = text(described.message) ?? 'it failed without a message'
  const after = retry ?? null
  const isDelay = typeof after === 'number' && after >= 0 && after <= RETRY_MAX_MS
  const kind = FAILURE_KINDS.find((one) => one === (described.kind ?? 'error'))
  if (kind === undefined) return bad(`kind is not one of ${FAILURE_KINDS.join(', ')}`)
  const why = { type: 'failed', id, message, stack: stackOf(described), kind } as const
  if (after === null || after === true) return { ...why, retry: null }
  if (after === false || isDelay) return { ...why, retry: after }
  return bad('retry is neither false nor a number of milliseconds')
}

function stackOf({ stack }: Record<string, unknown>): string | null {
  return text(stack) ?? null
}

function bad(why: string): Bad {
  return { type: 'bad', why }
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value = readExactly(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : writeExactly(value)
}
