import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'

export type Redact = (value: unknown) => unknown

const HIDDEN = '[redacted]'
const STEP = /^(\*|[^.*\s][^.*]{0,99})$/
/** What is deeper was not made by Gleaner's own checks; it is hidden rather than searched. */
const DEPTH_MAX = 200

/**
 * Hides fields by the end of their path: `password` is every field of that name, `user.password` only inside a `user`, and `*`
 * stands for any one step. The elements of an array have the path of the array. Letters are compared without their case.
 */
export function redactor(patterns: readonly string[]): Redact {
  const paths = patterns.map(stepsOf)
  if (paths.length === 0) return (value) => value
  const isHidden = (path: readonly string[]) => paths.some((steps) => endsWith(path, steps))

  const copy = (value: unknown, path: readonly string[]): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (path.length > DEPTH_MAX) return HIDDEN
    if (Array.isArray(value)) return value.map((one) => copy(one, path))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => {
        const inner = [...path, name.toLowerCase()]
        return [name, isHidden(inner) ? HIDDEN : copy(one, inner)]
      }),
    )
  }
  return (value) => copy(value, [])
}

function endsWith(path: readonly string[], steps: readonly string[]): boolean {
  const from = path.length - steps.length
  return from >= 0 && steps.every((step, index) => step === '*' || step === path[from + index])
}

function stepsOf(pattern: unknown): string[] {
  const steps = typeof pattern === 'string' ? pattern.split('.') : []
  if (steps.length > 0 && steps.at(-1) !== '*' && steps.every((step) => STEP.test(step)))
    return steps.map((step) => step.toLowerCase())
  throw new InputError(`redact: ${shown(pattern)} is not a path`, {
    code: 'BAD_OPTION',
    hint: "Name a field, and perhaps what it stands in: 'password', '*.password', 'user.password'.",
  })
}
