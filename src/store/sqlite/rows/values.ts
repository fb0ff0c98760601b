import type { ColumnValue, RowValues } from '../../../model/row.ts'
import type { RowSource } from './source-sql.ts'

/** What SQLite can bind. A flag is 1 or 0, a date its milliseconds; whole numbers stay whole in a column of any type. */
function bindable(value: ColumnValue, column: string): bigint | number | string | Buffer | null {
  if (value === null || typeof value === 'string' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (value instanceof Date) return BigInt(value.getTime())
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const kind = Array.isArray(value) ? 'an array' : `of type ${typeof value}`
  throw new TypeError(`the value for column ${column} is ${kind}`)
}

export function bound(values: RowValues) {
  return Object.entries(values).map(([column, value]) => bindable(value, column))
}

/** Why these cannot be written whatever the row: a mistake in the code. Null: they can. */
export function wrongColumns(names: readonly string[], { columns, source }: RowSource): string | null {
  const unknown = names.find((name) => !columns.includes(name))
  if (unknown !== undefined)
    return `done sets ${unknown}, which is not a column; the columns are: ${columns.join(', ')}`
  const changed = names.find((name) => source.key.includes(name))
  return changed === undefined ? null : `done sets ${changed}, which is the key of the row`
}
