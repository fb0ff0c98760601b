import { type Duration, durationMs } from './duration.ts'
import { type ErrorCode, InputError } from './errors.ts'
import { describeValue } from './thrown.ts'

/** The options of one object. */
export interface Options {
  /** Whose they are. */
  of: string
  names: readonly string[]
}

const declared: Options[] = []

/** All options objects of the modules that are loaded: a test tries each of them with an unknown field, a misspelt one, and wrong values. */
export function declaredOptions(): readonly Options[] {
  return declared
}

/** Options whose types depend on each other, and stand with the function that takes them. */
export type Parts<Names extends string> = Partial<Record<Names, unknown>>

/** The only list of the options of an object. The compiler refuses it if the type has an option more or less. */
export function declareOptions<T extends object>(
  of: string,
  names: { readonly [Name in keyof T]-?: true },
): Options {
  const options = { of, names: Object.keys(names) }
  declared.push(options)
  return options
}

type InMs<T> = { [Name in keyof T & string as `${Name}Ms`]-?: number }

/** Options that are all durations, with their defaults. `read` answers with milliseconds. */
export interface Durations<T> extends Options {
  read(given: T, where: string): InMs<T>
}

/** The same for an object of durations: its names, and what each is by default. */
export function declareDurations<T extends object>(
  of: string,
  defaults: { readonly [Name in keyof T]-?: Duration },
): Durations<T> {
  const options = {
    of,
    names: Object.keys(defaults),
    read(given: T, where: string): InMs<T> {
      refuseUnknown(given, options, where)
      const all: [string, Duration][] = Object.entries(defaults)
      const read = all.map(([name, otherwise]) => {
        const value = (given as Record<string, Duration | undefined>)[name] ?? otherwise
        return [`${name}Ms`, durationMs(value, `${where}.${name}`)]
      })
      return Object.fromEntries(read)
    },
  }
  declared.push(options)
  return options
}

/** A misspelled option must not be ignored: it is refused, and the error names the one that was probably meant. */
export function refuseUnknown(
  given: object,
  { names }: Options,
  what: string,
  code: ErrorCode = 'BAD_OPTION',
): void {
  if (!isObject(given)) throw wrong(given, what, `Use an object of these options: ${names.join(', ')}.`, code)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const shown = JSON.stringify(unknown.slice(0, SHOWN_MAX))
  throw new InputError(`${what} has no option ${shown}`, { code, hint: knownOptions(unknown, names) })
}

const KINDS = {
  boolean: 'Use true or false.',
  string: 'Use a string.',
  function: 'Use a function.',
  object: 'Use an object.',
  array: 'Use an array.',
} as const

/** Options of these types. One that was not given is as it is by default. */
export function checkTypes(
  given: object,
  types: Readonly<Record<string, keyof typeof KINDS>>,
  where: string,
): void {
  for (const [name, type] of Object.entries(types)) {
    const value = (given as Record<string, unknown>)[name]
    if (value === undefined || isOf(type, value)) continue
    throw wrong(value, where === '' ? name : `${where}.${name}`, KINDS[type], 'BAD_OPTION')
  }
}

function isOf(type: keyof typeof KINDS, value: unknown): boolean {
  if (type === 'object') return isObject(value)
  return type === 'array' ? Array.isArray(value) : typeof value === type
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrong(value: unknown, what: string, hint: string, code: ErrorCode): InputError {
  return new InputError(`${what}: ${describeValue(value).slice(0, SHOWN_MAX)} is not valid`, { code, hint })
}

const SHOWN_MAX = 80

/** For people: `Did you mean retry? There are: name, retry.` `meant`: what others call an option, by their word for it. */
export function knownOptions(
  unknown: string,
  known: readonly string[],
  meant: Readonly<Record<string, string>> = {},
): string {
  const list = `There are: ${known.join(', ')}.`
  const guess = nearest(unknown, known) ?? sharedBeginning(unknown, known) ?? meant[unknown]
  return guess === undefined ? list : `Did you mean ${guess}? ${list}`
}

const BEGINNING_MIN = 4

/** retries: retry. */
function sharedBeginning(word: string, words: readonly string[]): string | undefined {
  const length = Math.max(BEGINNING_MIN, Math.ceil(word.length / 2))
  return words.find((one) => one.length >= length && one.slice(0, length) === word.slice(0, length))
}

/** What to write instead of a name that does not exist. */
export function namesHint(name: string, names: readonly string[]): string {
  const meant = nearest(name, names)
  if (meant !== undefined) return `Did you mean ${meant}?`
  return names.length === 0 ? 'There are none.' : `There are: ${names.join(', ')}.`
}

/** The word that was probably meant; undefined when none is near. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((candidate) => ({ candidate, distance: distance(word, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  const tolerance = Math.max(1, Math.floor(word.length / 3))
  return best !== undefined && best.distance <= tolerance ? best.candidate : undefined
}

/** So many letters to add, remove, change or swap. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number) => rows[i]![j]!
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      rows[i]![j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + change,
        isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(a.length, b.length)
}
