/** Text that a user reads, and where it stands. */
export interface Piece {
  file: string
  line: number
  text: string
}

/** What stands for code and for values that are known only at run time. */
export const CODE = '‹code›'

const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|incl)\.|\b[A-Z]\.)$/

/** The sentences of a text. Code spans count as one word each and are never read. */
export function sentencesOf(text: string): string[] {
  const prose = text
    .replaceAll(/(`+)[^`]+?\1/g, CODE)
    .replaceAll(/\s+/g, ' ')
    .trim()
  const sentences: string[] = []
  let start = 0
  for (const end of prose.matchAll(/[.!?…][)\]"”'*_]*(?=\s|$)/g)) {
    const until = end.index + end[0].length
    const sentence = prose.slice(start, until)
    const next = prose.slice(until).trimStart()
    if (ABBREVIATION.test(sentence) && next !== '') continue
    // A sentence does not start with a small letter: the dot belonged to a name or an abbreviation.
    if (/^[a-z]/.test(next)) continue
    sentences.push(sentence.trim())
    start = until
  }
  sentences.push(prose.slice(start).trim())
  return sentences.filter((sentence) => /\p{L}/u.test(sentence))
}

export function wordsIn(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
