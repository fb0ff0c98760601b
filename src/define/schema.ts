import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import { InputError } from '../errors.ts'
import { describeValue } from '../thrown.ts'

/** A list of a million items may break its schema in each of them. */
const ISSUES_MAX = 100

/** Checks a value against a Standard Schema (zod, valibot, arktype …). Synchronous whenever the schema is. */
export function checkAgainst(schema: Std, value: unknown, what: string): unknown | Promise<unknown> {
  const answer = schema['~standard'].validate(value)
  return answer instanceof Promise ? answer.then((a) => accepted(a, what)) : accepted(answer, what)
}

function accepted(answer: Std.Result<unknown>, what: string): unknown {
  if (answer.issues === undefined) return answer.value
  const issues = answer.issues
    .slice(0, ISSUES_MAX)
    .map((issue) => ({ path: pathOf(issue), message: describeValue(issue.message) }))
  const words = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new InputError(`${what} does not fit its schema: ${words}`, { code: 'BAD_INPUT', issues })
}

function pathOf(issue: Std.Issue): string {
  return (issue.path ?? [])
    .map((step) => describeValue(typeof step === 'object' && step !== null ? step.key : step))
    .join('.')
}

export function isSchema(value: unknown): value is Std {
  const standard = (value as Partial<Std> | null | undefined)?.['~standard']
  return typeof standard?.validate === 'function'
}
