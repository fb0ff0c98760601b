// For Node and browsers alike (Chromium 114, Firefox 135, Safari 18.4). A browser from before that reads what a number makes of it, as it
// does everywhere else.

/** The parts of JSON that the library of our TypeScript does not know yet. */
const exact = JSON as typeof JSON & {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { source?: string }) => unknown,
  ): unknown
}

/** A number with so many digits may be one that JavaScript cannot hold. */
const LONG_DIGITS = 16

/**
 * JSON that somebody stored or sent. An integer that a number would change is a BigInt; all others are numbers, also large ones
 * that JavaScript itself wrote.
 */
export function readExactly(text: string): unknown {
  return hasLongInteger(text) ? exact.parse(text, exactInteger) : JSON.parse(text)
}

/**
 * Every input is searched before it is read. So many digits in a row cover one of the places that lie so far apart, so only those are looked
 * at. Digits behind a point are none of ours: there are many decimals where there are some.
 */
export function hasLongInteger(text: string): boolean {
  for (let place = LONG_DIGITS - 1; place < text.length; place += LONG_DIGITS) {
    if (!isDigit(text, place)) continue
    let first = place
    while (first > 0 && isDigit(text, first - 1)) first -= 1
    while (isDigit(text, place + 1)) place += 1
    if (place - first + 1 >= LONG_DIGITS && text[first - 1] !== '.') return true
  }
  return false
}

function isDigit(text: string, place: number): boolean {
  const code = text.charCodeAt(place)
  return code >= 48 && code <= 57
}

/** The time to read a BigInt grows with the square of its digits: a million of them would take half a minute. */
const DIGITS_MAX = 1_000

/** Beyond `DIGITS_MAX` it stays what a number makes of it, which is infinite. */
function exactInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source ?? ''
  if (source.length > DIGITS_MAX) return value
  const isChanged = typeof value === 'number' && !Number.isSafeInteger(value) && String(value) !== source
  return isChanged && /^-?\d+$/.test(source) ? BigInt(source) : value
}

/** A BigInt is written as the integer it is, with all its digits. */
export function writeExactly(value: unknown, indent = 0): string {
  return JSON.stringify(value, (_key, one) => writable(one), indent)
}

/** A value that JSON.stringify can write: of a BigInt, its digits. */
export function writable(value: unknown): unknown {
  return typeof value === 'bigint' ? exact.rawJSON(String(value)) : value
}

/** Other languages have integers of any length. A handler's BigInt is refused, because it may come back as a number; these were JSON before. */
export function storable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return writable(value)
  if (Array.isArray(value)) return value.map(storable)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, storable(one)]))
}

export interface Unholdable {
  path: string[]
  number: bigint | number
}

/** The first number that a handler would not get as it was written: too long for one, or too large. */
export function unholdableIn(value: unknown): Unholdable | undefined {
  if (typeof value === 'bigint') return { path: [], number: value }
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { path: [], number: value }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, one] of Object.entries(value)) {
    const found = unholdableIn(one)
    if (found !== undefined) return { path: [name, ...found.path], number: found.number }
  }
}
