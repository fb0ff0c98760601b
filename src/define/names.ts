import { type ErrorCode, InputError } from '../errors.ts'
import { describeValue } from '../thrown.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/
const KEY_MAX = 500

/** Names of tasks and queues: they stand in keys, file names, URLs and metrics, so they are plain. */
export function checkName(value: unknown, what: string, code: ErrorCode): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw new InputError(`${what}: ${shown(value)} is not a name`, {
    code,
    hint: 'Use 1 to 100 letters, digits, dots, colons, dashes or underscores, beginning with a letter or digit.',
  })
}

export function checkKey(value: unknown): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= KEY_MAX && !value.includes('\0'))
    return value
  throw new InputError(`key: ${shown(value)} is not a key`, {
    code: 'BAD_KEY',
    hint: `Use a string of 1 to ${KEY_MAX} characters.`,
  })
}

/** A value as it can stand in a message: short, and never failing itself. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'function') return 'a function'
  if (value === null || typeof value !== 'object') return describeValue(value)
  return isArray(value) ? 'an array' : 'an object'
}

/** A revoked proxy cannot even be asked that. */
function isArray(value: unknown): boolean {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}
