import { readExactly, unholdableIn } from '../../exact-json.ts'
import { UsageError } from './command.ts'

/** A JSON value of the command line. `what` names it in errors. */
export function jsonOf(json: string | undefined, what: string): unknown {
  if (json === undefined || json.trim() === '') return undefined
  const value = parsed(json, what)
  const changed = unholdableIn(value)
  if (changed === undefined) return value
  throw new UsageError(
    `${[what, ...changed.path].join('.')}: the number ${changed.number} cannot be held exactly`,
    'Pass it as a string, in quotes.',
  )
}

function parsed(json: string, what: string): unknown {
  try {
    return readExactly(json)
  } catch (error) {
    throw new UsageError(
      `the ${what} is not JSON: ${(error as Error).message}`,
      `In a shell, write it in single quotes: '{"path":"a.png"}'`,
    )
  }
}
