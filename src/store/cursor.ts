import { InputError } from '../errors.ts'

/** A place in a listing, as an opaque string. */
export function writeCursor(position: readonly number[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

/** The position of `size` numbers that a cursor names; empty for the first page. */
export function readCursor(cursor: string | null, size: number): number[] {
  if (cursor === null) return []
  const position = parse(cursor)
  if (!Array.isArray(position) || position.length !== size || !position.every(Number.isSafeInteger)) {
    throw badCursor()
  }
  return position as number[]
}

/** A place among rows, which is a text. */
export function writePlace(place: string): string {
  return Buffer.from(JSON.stringify({ place })).toString('base64url')
}

/** Null for the first page. */
export function readPlace(cursor: string | null): string | null {
  if (cursor === null) return null
  const { place } = (parse(cursor) ?? {}) as { place?: unknown }
  if (typeof place !== 'string') throw badCursor()
  return place
}

export function badCursor(): InputError {
  return new InputError('the cursor is not one of this listing', {
    code: 'BAD_CURSOR',
    hint: 'Pass the `next` of the page before, with the same filter; leave it out for the first page.',
  })
}

/** Whether a text is a JSON array of so many values that a column can hold: a key of several columns, or a place in an order. */
export function isTuple(text: string, size: number): boolean {
  try {
    const values: unknown = JSON.parse(text)
    return (
      Array.isArray(values) &&
      values.length === size &&
      values.every((value) => typeof value !== 'object' || value === null)
    )
  } catch {
    return false
  }
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
