import { type ErrorCode, InputError } from './errors.ts'

/** A misspelled option must not be ignored: it is refused, and the error names the one that was probably meant. */
export function refuseUnknown(
  options: object,
  known: readonly string[],
  what: string,
  code: ErrorCode = 'BAD_OPTION',
): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const shown = JSON.stringify(unknown.slice(0, SHOWN_MAX))
  throw new InputError(`${what} has no option ${shown}`, { code, hint: knownOptions(unknown, known) })
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
