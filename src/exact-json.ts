/** The parts of JSON that the library of our TypeScript does not know yet. */
const exact = JSON as typeof JSON & {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}

/** A number of 16 digits or more may be one that JavaScript cannot hold. */
const MAYBE_CHANGED = /\d{16}/

/**
 * JSON that somebody stored or sent. An integer that a number would change is a BigInt; all others are numbers, also large ones
 * that JavaScript itself wrote.
 */
export function readExactly(text: string): unknown {
  return MAYBE_CHANGED.test(text) ? exact.parse(text, exactInteger) : JSON.parse(text)
}

function exactInteger(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  const isChanged = typeof value === 'number' && !Number.isSafeInteger(value) && String(value) !== source
  return isChanged && /^-?\d+$/.test(source) ? BigInt(source) : value
}

/** A BigInt is written as the integer it is, with all its digits. */
export function writeExactly(value: unknown, indent = 0): string {
  const digits = (_key: string, one: unknown) => (typeof one === 'bigint' ? exact.rawJSON(String(one)) : one)
  return JSON.stringify(value, digits, indent)
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
