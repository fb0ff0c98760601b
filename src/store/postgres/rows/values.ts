import pg from 'pg'
import type { ColumnValue } from '../../../model/row.ts'
import type { Column } from './shape.ts'

/** How the user's values are read: as the driver does, but whole numbers as numbers, and exactly. */
export const USER_TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8
      ? exactInteger
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

function exactInteger(text: string): number | bigint {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

/** A value as the text that the server reads a value of this column's type from. */
export function asText(value: ColumnValue | object | undefined, column: Column): string | null {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return isNumber(column) ? String(value.getTime()) : localTime(value)
  if (typeof value === 'boolean' && isNumber(column)) return value ? '1' : '0'
  if (typeof value === 'object')
    return Array.isArray(value) && isArray(column) ? arrayText(value) : JSON.stringify(value)
  return String(value)
}

function isNumber({ category }: Column): boolean {
  return category === 'N'
}

function isArray({ category }: Column): boolean {
  return category === 'A'
}

function arrayText(values: readonly unknown[]): string {
  const elements = values.map((value) => {
    if (value === null || value === undefined) return 'NULL'
    if (Array.isArray(value)) return arrayText(value)
    const text = value instanceof Date ? localTime(value) : String(value)
    return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  })
  return `{${elements.join()}}`
}

/** With its offset: a column without time zone keeps the local time, as the driver reads it. */
function localTime(date: Date): string {
  if (Number.isNaN(date.getTime())) return 'an invalid date'
  const two = (n: number) => String(Math.trunc(n)).padStart(2, '0')
  const offset = -date.getTimezoneOffset()
  const year = date.getFullYear()
  const day = `${String(Math.abs(year > 0 ? year : year - 1)).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`
  return `${day} ${time}${zone}${year > 0 ? '' : ' BC'}`
}
