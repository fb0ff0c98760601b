import { type ErrorCode, InputError } from '../errors.ts'

export const PAYLOAD_MAX_BYTES = 1_048_576

/** Deeper than this JSON.stringify decides; it also names cycles. */
const DEPTH_MAX = 100

/** A value as JSON, or null for none. Refused: what JSON cannot hold, or would silently drop. */
export function encodePayload(
  value: unknown,
  what: string,
  maxBytes: number,
  tooLarge: ErrorCode,
): string | null {
  if (value === undefined) return null
  const flaw = unstorable(value, 0)
  if (flaw !== undefined) throw notJson(what, `${[what, ...flaw.path].join('.')} is ${flaw.reason}`)
  const text = encode(value, what)
  // A character takes three bytes at most, so that short texts need no counting.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes) {
    throw new InputError(`${what} is ${Buffer.byteLength(text)} bytes of JSON; the limit is ${maxBytes}`, {
      code: tooLarge,
      hint: 'Store large data elsewhere and pass a reference (a path, a key), or raise `payloadLimit`.',
    })
  }
  return text
}

function encode(value: unknown, what: string): string {
  try {
    const text: string | undefined = JSON.stringify(value)
    if (text !== undefined) return text
  } catch (cause) {
    throw notJson(what, (cause as Error).message.split('\n')[0] ?? '', cause)
  }
  throw notJson(what, 'its toJSON() gives nothing')
}

interface Flaw {
  path: string[]
  reason: string
}

/** JSON.stringify throws for BigInt and cycles, but drops functions and symbols, and NaN, without a word. */
function unstorable(value: unknown, depth: number): Flaw | undefined {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      return { path: [], reason: `a ${typeof value}` }
    case 'bigint':
      return { path: [], reason: `a BigInt (${value}n)` }
    case 'number':
      return Number.isFinite(value)
        ? undefined
        : { path: [], reason: `${value}, which JSON would turn into null` }
    case 'object': {
      if (value === null || depth > DEPTH_MAX || typeof (value as { toJSON?: unknown }).toJSON === 'function')
        return
      for (const name in value) {
        const flaw = unstorable((value as Record<string, unknown>)[name], depth + 1)
        if (flaw !== undefined) return { path: [name, ...flaw.path], reason: flaw.reason }
      }
    }
  }
}

function notJson(what: string, reason: string, cause?: unknown): InputError {
  return new InputError(`${what} cannot be stored as JSON: ${reason}`, {
    code: 'NOT_JSON',
    hint: 'Pass plain data: objects, arrays, strings, finite numbers, booleans, null, dates.',
    cause,
  })
}
