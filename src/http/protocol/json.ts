import { readExactly, type Unholdable, unholdableIn } from '../../exact-json.ts'
import { Problem } from './problem.ts'

/** Deeper than any data somebody means: what walks through it must not run out of stack. */
const DEPTH_MAX = 100
const MAYBE_UNSAFE = /\d{16}|\d[eE]/

/** What was sent, or a problem that names the place. No number is silently changed. */
export function parseJson(text: string): unknown {
  const value = parsed(text)
  if (isDeeperThan(value, DEPTH_MAX))
    throw new Problem('BAD_REQUEST', `the body is nested deeper than ${DEPTH_MAX} levels`, 'Flatten it.')
  const changed = MAYBE_UNSAFE.test(text) ? unholdableIn(value) : undefined
  if (changed !== undefined) throw unholdable(changed)
  return value
}

function parsed(text: string): unknown {
  try {
    return readExactly(text)
  } catch (error) {
    throw new Problem('BAD_REQUEST', 'the body is not JSON', (error as Error).message.slice(0, 200))
  }
}

function unholdable({ path, number }: Unholdable): Problem {
  const shown = String(number).slice(0, 60)
  return new Problem('BAD_REQUEST', `the number ${shown} cannot be held exactly`, 'Send it as a string.', {
    issues: [
      {
        path: path.join('.').slice(0, 200),
        message: `${shown} is too large for an exact number. Send it as a string`,
      },
    ],
  })
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
