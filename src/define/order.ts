import { InputError } from '../errors.ts'
import { messageOf } from '../thrown.ts'
import { shown } from './names.ts'

/** Returns the order key of a task: tasks of one name with the same key run one at a time, in the order of enqueue. */
export type OrderOf = (input: any) => unknown

const KEY_MAX = 200
const HINT = `order must return a number, or a string of 1 to ${KEY_MAX} characters.`

/** Null when the task has none. */
export function checkOrder(order: unknown, what: string): OrderOf | null {
  if (order === undefined) return null
  if (typeof order === 'function') return order as OrderOf
  throw new InputError(`${what}: ${shown(order)} is not a function`, {
    code: 'BAD_DEFINITION',
    hint: 'Give a function of the input, e.g. (input) => input.account.',
  })
}

/** The key of one task. Whatever the function does is an answer to the caller, not a crash. */
export function orderKeyOf(order: OrderOf, input: unknown, task: string): string {
  let value: unknown
  try {
    value = order(input)
  } catch (cause) {
    throw new InputError(`task ${task}: order failed: ${messageOf(cause)}`, {
      code: 'BAD_KEY',
      hint: HINT,
      cause,
    })
  }
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  if (typeof value === 'string' && value !== '' && value.length <= KEY_MAX && isStorable(value)) return value
  throw new InputError(`task ${task}: order: ${shown(value)} is not a key`, { code: 'BAD_KEY', hint: HINT })
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
