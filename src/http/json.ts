import { Problem } from './problem.ts'

/** Deeper than any data somebody means: what walks through it must not run out of stack. */
const DEPTH_MAX = 100

/** The parts of JSON that the library of our TypeScript does not know yet. */
const exact = JSON as typeof JSON & {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}

/** A number of 16 digits or more may be one that JavaScript cannot hold. */
const MAYBE_UNSAFE = /\d{16}|\d[eE]/

/** What was sent, or a problem that names the place. No number is silently changed. */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = MAYBE_UNSAFE.test(text) ? exact.parse(text, exactNumber) : JSON.parse(text)
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('BAD_REQUEST', 'the body is not JSON', (error as Error).message.slice(0, 200))
  }
  if (isDeeperThan(value, DEPTH_MAX))
    throw new Problem('BAD_REQUEST', `the body is nested deeper than ${DEPTH_MAX} levels`, 'Flatten it.')
  return value
}

function exactNumber(key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number') return value
  const changed = Number.isInteger(value) && !Number.isSafeInteger(value)
  if (Number.isFinite(value) && !(changed && /^-?\d+$/.test(source ?? ''))) return value
  throw new Problem(
    'BAD_REQUEST',
    `the number ${(source ?? '').slice(0, 60)} cannot be held exactly`,
    'Send it as a string.',
    { issues: [{ path: key, message: 'a number beyond 2^53 would be changed' }] },
  )
}

/** Level by level, because what is deep would overflow the stack of whoever walks down. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let here: unknown[] = [value]
  for (let level = 0; level <= levels && here.length > 0; level++) {
    here = here.flatMap((one) =>
      typeof one === 'object' && one !== null
        ? Object.values(one).filter((inner) => typeof inner === 'object')
        : [],
    )
  }
  return here.length > 0
}

/** Integers that JavaScript keeps as a BigInt are written with all their digits. */
export function writeJson(value: unknown, indent = 0): string {
  const exactly = (_key: string, one: unknown) => (typeof one === 'bigint' ? exact.rawJSON(String(one)) : one)
  return JSON.stringify(value, exactly, indent)
}
