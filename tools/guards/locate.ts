import { parseSync, Visitor } from 'oxc-parser'

/** Where a pattern stands in a module, and how what it calls by name is called there. */
export interface Place {
  start: number
  end: number
  /** By the name in the pattern. */
  names: ReadonlyMap<string, string>
}

/**
 * The pattern is a piece of source. It is found as it is written; or else, because names change, where the same stands with other
 * names: whatever the parser calls an identifier may be called otherwise, each in the same way throughout. What is text to the parser, as
 * SQL is, must be the same. Of several such places it is the one that shares the most names with the pattern.
 */
export function placesOf(file: string, code: string, pattern: string): Place[] {
  const exact = exactPlaces(code, pattern)
  if (exact.length > 0) return exact
  const identifiers = identifiersOf(file, code)
  const found: { place: Place; shared: number }[] = []
  for (let start = 0; start < code.length; start++) {
    const place = placeAt(start, code, identifiers, pattern.trim())
    if (place !== undefined) found.push({ place, shared: sharedNames(place) })
    // Not in the middle of a name.
    start = (identifiers.get(start) ?? start + 1) - 1
  }
  const most = Math.max(...found.map(({ shared }) => shared))
  return found.filter(({ shared }) => shared === most).map(({ place }) => place)
}

/** `text` with the names of that place. */
export function withNamesOf({ names }: Place, text: string): string {
  return text.replaceAll(WORDS, (word) => names.get(word) ?? word)
}

function exactPlaces(code: string, pattern: string): Place[] {
  const found: Place[] = []
  for (let start = code.indexOf(pattern); start >= 0; start = code.indexOf(pattern, start + 1))
    if (isWhole(code, start, pattern)) found.push({ start, end: start + pattern.length, names: new Map() })
  return found
}

/** A longer name is another one. */
function isWhole(code: string, start: number, pattern: string): boolean {
  const goesOn = isWordAt(pattern, pattern.length - 1) && isWordAt(code, start + pattern.length)
  return !goesOn && !(isWordAt(pattern, 0) && isWordAt(code, start - 1))
}

const WORDS = /[A-Za-z_$][\w$]*/g
const WORD = /[A-Za-z_$][\w$]*/y
const SPACE = /\s*/y

function placeAt(
  start: number,
  code: string,
  identifiers: ReadonlyMap<number, number>,
  pattern: string,
): Place | undefined {
  const names = new Map<string, string>()
  let at = start
  for (let i = 0; i < pattern.length; ) {
    const space = matchAt(SPACE, pattern, i)
    if (space !== '') {
      i += space.length
      const there = matchAt(SPACE, code, at)
      if (there === '' && isWordAt(pattern, i) && isWordAt(pattern, i - space.length - 1)) return undefined
      at += there.length
      continue
    }
    const end = identifiers.get(at)
    if (end === undefined) {
      if (pattern[i] !== code[at]) return undefined
      i += 1
      at += 1
      continue
    }
    const word = matchAt(WORD, pattern, i)
    const name = code.slice(at, end)
    if (word === '' || (names.get(word) ?? name) !== name) return undefined
    names.set(word, name)
    i += word.length
    at = end
  }
  return { start, end: at, names }
}

function sharedNames({ names }: Place): number {
  return [...names].filter(([word, name]) => word === name).length
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function isWordAt(text: string, at: number): boolean {
  return /\w/.test(text[at] ?? '')
}

/** Where each begins, and where it ends; of a private name without its `#`. */
export function identifiersOf(file: string, code: string): Map<number, number> {
  const found = new Map<number, number>()
  const note = ({ start, end, name }: { start: number; end: number; name: string }) =>
    // A parameter with a type: its span is that of both.
    void found.set(
      code[start] === '#' ? start + 1 : start,
      Math.min(end, start + name.length + (code[start] === '#' ? 1 : 0)),
    )
  new Visitor({ Identifier: note, PrivateIdentifier: note, JSXIdentifier: note }).visit(
    parseSync(file, code).program,
  )
  return found
}
