type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown
const parse = JSON.parse as (text: string, reviver?: Reviver) => unknown

/** A number of 16 digits or more may be one that JavaScript cannot hold. */
const MAYBE_UNSAFE = /\d{16}/

/** Integers that a number cannot hold become a BigInt, with all their digits. */
export function readJson(text: string): unknown {
  return MAYBE_UNSAFE.test(text) ? parse(text, exactInteger) : JSON.parse(text)
}

const exactInteger: Reviver = (_key, value, context) => {
  const source = context?.source
  const isChanged = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
  return isChanged && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value
}

/** As it came, on several lines. */
export function writeJson(value: unknown, indent = 2): string {
  const digits = new Map<string, string>()
  const text = JSON.stringify(
    value,
    (_key, one) => {
      if (typeof one !== 'bigint') return one
      const mark = `bigint:${one}:${digits.size}`
      digits.set(`"${mark}"`, String(one))
      return mark
    },
    indent,
  )
  return text === undefined ? '' : withDigits(text, digits)
}

function withDigits(text: string, digits: Map<string, string>): string {
  let written = text
  for (const [mark, number] of digits) written = written.replace(mark, () => number)
  return written
}
