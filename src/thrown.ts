import { inspect } from 'node:util'

/** A value that was thrown, as texts that can be stored and shown. */
export interface Thrown {
  /** Empty for a value that is no error. */
  name: string
  message: string
  stack: string | null
}

const NAME_MAX = 100
const MESSAGE_MAX = 2_000
const STACK_MAX = 8_000
/** Of what an error was caused by, and of the errors in an AggregateError. */
const CAUSES_MAX = 5
const ERRORS_MAX = 3
/** More of them than anybody writes; a proxy may answer with new ones for ever. */
const PROTOTYPES_MAX = 100
const PROPERTIES_MAX = 100

const INSPECTED = {
  depth: 1,
  breakLength: Number.POSITIVE_INFINITY,
  compact: true,
  customInspect: false,
  maxArrayLength: 10,
  maxStringLength: 200,
} as const

/**
 * JavaScript can throw anything: null, a symbol, an object whose getters throw, a revoked proxy. Whatever reads a value
 * that was caught reads it with the functions of this file, which never throw.
 */
export function describeThrown(thrown: unknown): Thrown {
  if (!isLikeError(thrown)) return { name: '', message: describeValue(thrown), stack: null }
  const name = property(thrown, 'name')
  const stack = property(thrown, 'stack')
  return {
    name: typeof name === 'string' ? cut(name, NAME_MAX) : '',
    message: messageIn(thrown, 0),
    stack: typeof stack === 'string' ? stackWithCauses(thrown, stack) : null,
  }
}

/** Its message alone, which is what stands behind "… failed: ". */
export function messageOf(thrown: unknown): string {
  return isLikeError(thrown) ? messageIn(thrown, 0) : describeValue(thrown)
}

/** Its name and its message, as JavaScript writes an error. */
export function titleOf({ name, message }: Pick<Thrown, 'name' | 'message'>): string {
  return [name, message].filter((part) => part !== '').join(': ')
}

/** For libraries that expect an error with properties that can be read. */
export function asError(thrown: unknown): Error {
  const { name, message, stack } = describeThrown(thrown)
  const error = new Error(message)
  error.name = name === '' ? 'Error' : name
  error.stack = stack ?? titleOf(error)
  const code = property(thrown, 'code')
  return typeof code === 'string' ? Object.assign(error, { code }) : error
}

/** Any value as a short text. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return cut(value, MESSAGE_MAX)
  try {
    if (isObject(value) && Object.keys(value).length > PROPERTIES_MAX && !Array.isArray(value))
      return `an object with ${Object.keys(value).length} properties`
    return cut(inspect(value, INSPECTED), MESSAGE_MAX)
  } catch {
    return `a value that cannot be shown (${typeof value})`
  }
}

/** Undefined, too, when it cannot be read. */
export function property(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

/** As `instanceof`, which throws for a revoked proxy, and may never end for another one. */
export function isInstanceOf<T>(value: unknown, type: abstract new (...args: any[]) => T): value is T {
  return hasPrototype(value, (prototype) => prototype === type.prototype)
}

/** Whether any object in its chain, itself included, is the one that is looked for. */
export function hasPrototype(value: unknown, isIt: (prototype: object) => boolean): boolean {
  try {
    let one: unknown = value
    for (let n = 0; n < PROTOTYPES_MAX && isObject(one); n++) {
      if (isIt(one)) return true
      one = Object.getPrototypeOf(one)
    }
  } catch {}
  return false
}

/** Also of another realm, a proxy of one, and what others throw instead: `{ code, message }`. */
function isLikeError(value: unknown): value is object {
  return isObject(value) && (typeof property(value, 'message') === 'string' || isInstanceOf(value, Error))
}

function messageIn(error: object, depth: number): string {
  const message = property(error, 'message')
  const text = typeof message === 'string' ? cut(message, MESSAGE_MAX) : ''
  const several = depth < 2 ? severalIn(error, depth) : ''
  const whole = text !== '' && several !== '' ? `${text}: ${several}` : text + several
  return whole === '' ? 'an error without a message' : cut(whole, MESSAGE_MAX)
}

/** The errors in an AggregateError, which itself says little or nothing. */
function severalIn(error: object, depth: number): string {
  if (!isInstanceOf(error, AggregateError)) return ''
  const errors = property(error, 'errors')
  const count = property(errors, 'length')
  if (typeof count !== 'number') return ''
  const shown = Array.from({ length: Math.min(count, ERRORS_MAX) }, (_, n) => {
    const one = property(errors, String(n))
    return isLikeError(one) ? messageIn(one, depth + 1) : describeValue(one)
  })
  const rest = count > ERRORS_MAX ? [`and ${count - ERRORS_MAX} more`] : []
  return [...shown, ...rest].join('; ')
}

function stackWithCauses(error: object, stack: string): string {
  const seen = new Set<unknown>([error])
  let text = stack.slice(0, STACK_MAX)
  for (let one = property(error, 'cause'); one !== undefined; one = property(one, 'cause')) {
    if (seen.has(one) || seen.size > CAUSES_MAX) break
    seen.add(one)
    const told = property(one, 'stack')
    text += `\nCaused by: ${typeof told === 'string' ? told.slice(0, STACK_MAX) : messageOf(one)}`
  }
  return cut(text, STACK_MAX)
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** What any database and any log can hold: no NUL, and no half of a character. */
function cut(text: string, max: number): string {
  return text.slice(0, max).replaceAll('\0', '\ufffd').toWellFormed()
}
