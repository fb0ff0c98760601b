import { shown } from '../../define/names.ts'
import { InputError } from '../../errors.ts'
import { readExactly, writeExactly } from '../../exact-json.ts'

/** `about`: a record that the value belongs to. What is hidden in it is hidden in the value, too. */
export type Redact = (value: unknown, about?: unknown) => unknown

const HIDDEN = '[redacted]'
const STEP = /^(\*|[^.*\s][^.*]{0,99})$/
/** What is deeper was not made by Gleaner's own checks; it is hidden rather than searched. */
const DEPTH_MAX = 200
/** Shorter values occur in other texts by chance. */
const SECRET_MIN = 4
const SECRETS_MAX = 200
/** Longer texts are not parsed as JSON; named values in them are hidden all the same. */
const PARSED_MAX = 1_000_000

/**
 * Hides fields by the end of their path: `password` is every field of that name, `user.password` only inside a `user`, and `*`
 * stands for any one step. The elements of an array have the path of the array. Letters are compared without their case.
 * Texts are searched as well, e.g. messages of errors: for JSON, for `password=…` and `"password": …`, and for the values that are
 * hidden elsewhere in the same answer.
 */
export function redactor(patterns: readonly string[]): Redact {
  const paths = patterns.map(stepsOf)
  if (paths.length === 0) return (value) => value
  const named = namedValues(paths.map((steps) => steps.at(-1)!))
  const redact = (value: unknown, about?: unknown): unknown => {
    const secrets = new Set<string>()
    if (about !== undefined) hideFields(about, paths, secrets)
    const hidden = hideFields(value, paths, secrets)
    const longestFirst = [...secrets].sort((a, b) => b.length - a.length)
    return inFreeText(hidden, (text) => {
      const unnamed = text.replace(named, `$1$2${HIDDEN}$2`)
      return longestFirst.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), unnamed)
    })
  }
  return (value, about) => {
    const page = value as { items?: unknown } | null
    if (!Array.isArray(page?.items)) return redact(value, about)
    // A long page holds more hidden values than can be searched for in each of its texts: each record is searched for its own first.
    return redact({ ...page, items: page.items.map((item) => redact(item)) }, [about, value])
  }
}

/** A copy without the fields that the paths name, also those of JSON inside texts. `secrets` gathers what was hidden. */
function hideFields(value: unknown, paths: readonly (readonly string[])[], secrets: Set<string>): unknown {
  const isHidden = (path: readonly string[]) => paths.some((steps) => endsWith(path, steps))
  const copy = (one: unknown, path: readonly string[]): unknown => {
    if (typeof one === 'string') return inJson(one, (parsed) => copy(parsed, path))
    if (typeof one !== 'object' || one === null) return one
    if (path.length > DEPTH_MAX) return HIDDEN
    if (Array.isArray(one)) return one.map((element) => copy(element, path))
    return Object.fromEntries(
      Object.entries(one).map(([name, field]) => {
        const inner = [...path, name.toLowerCase()]
        if (!isHidden(inner)) return [name, copy(field, inner)]
        gather(field, secrets)
        return [name, HIDDEN]
      }),
    )
  }
  return copy(value, [])
}

/** As a message would hold it: numbers by their digits, texts as they are and as JSON writes them. */
function gather(value: unknown, secrets: Set<string>, depth = 0): void {
  if (depth > DEPTH_MAX || secrets.size >= SECRETS_MAX || value === HIDDEN) return
  if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) gather(one, secrets, depth + 1)
  if (!['string', 'number', 'bigint'].includes(typeof value)) return
  const text = String(value)
  if (text.length < SECRET_MIN) return
  secrets.add(text)
  secrets.add(JSON.stringify(text).slice(1, -1))
}

function inJson(text: string, change: (parsed: unknown) => unknown): string {
  if (!/^\s*[[{]/.test(text) || text.length > PARSED_MAX) return text
  let parsed: unknown
  try {
    parsed = readExactly(text)
  } catch {
    return text
  }
  const changed = change(parsed)
  const written = writeExactly(changed)
  return written === writeExactly(parsed) ? text : written
}

/** Only these hold what a handler or a user wrote. A queue that has the name of a secret keeps its name. */
const FREE = new Set(['input', 'result', 'error', 'progress', 'details', 'message', 'reasons', 'row'])

function inFreeText(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return value
  if (Array.isArray(value)) return value.map((element) => inFreeText(element, change, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      FREE.has(name) ? eachText(field, change) : inFreeText(field, change, depth + 1),
    ]),
  )
}

function eachText(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) return HIDDEN
  if (Array.isArray(value)) return value.map((element) => eachText(element, change, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, eachText(field, change, depth + 1)]),
  )
}

/** `password=x`, `"password": "x"` (also cut off, also inside another text of JSON), `Authorization: Bearer x`. */
function namedValues(names: readonly string[]): RegExp {
  const escaped = names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const value =
    /(?<=\\")(?:[^"\\]|\\\\(?:\\.|.))*(?:\\")?|(?<=")(?:[^"\\]|\\.)*"?|(?<=')[^']*'?|(?:Bearer|Basic)\s+[^\s,;]+|[^\s,;&"'{}[\]()]+/
      .source
  return new RegExp(
    `((?<![\\w-])["']?(?:${escaped.join('|')})\\\\*["']?\\s*(?:=>|[:=])\\s*)((?:\\\\*["'])?)(?:${value})`,
    'gi',
  )
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
    hint: "Name a field, or a field of an object: 'password', '*.password', 'user.password'.",
  })
}
