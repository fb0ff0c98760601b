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

function badCursor(): InputError {
  return new InputError('the cursor is not one of this listing', {
    code: 'BAD_CURSOR',
    hint: 'Pass the `next` of the page before, with the same filter; leave it out for the first page.',
  })
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
