import { types } from 'node:util'
import type { DiscoveryDefinition } from '../define/discovery.ts'
import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import type { RowValues } from '../model/row.ts'

/** What `done` makes of a result: the columns to set. What it throws is its own; what cannot be written is refused here. */
export function doneValues(definition: DiscoveryDefinition, result: unknown, row: unknown): RowValues {
  const what = `discovery ${definition.name}: done`
  const values = definition.done(result, row)
  if (isThenable(values)) {
    values.then(undefined, () => {})
    throw refused(`${what} returned a promise`, 'It must be synchronous. Do slow work in `run`.')
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw refused(
      `${what} returned ${shown(values)}`,
      'Return the columns to set, e.g. { needs_tagging: 0 }.',
    )
  // Read once: the transaction that writes them must not meet a getter that throws.
  const read = Object.entries(values)
  for (const [column, value] of read) {
    const flaw = flawOf(value)
    if (flaw !== null) throw refused(`${what}: ${column} is ${flaw}`, HINT)
  }
  return Object.fromEntries(read) as RowValues
}

const HINT = 'A column is set to a string, a number, a bigint, a boolean, null, a valid Date or bytes.'

/** Null: a column can hold it. */
function flawOf(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
    case 'bigint':
    case 'boolean':
      return null
    case 'number':
      return Number.isFinite(value) ? null : String(value)
    case 'object':
      if (value === null || types.isUint8Array(value)) return null
      if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid Date' : null
      return shown(value)
    default:
      return shown(value)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function'
}

function refused(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_DONE', hint })
}
