import { StringDecoder } from 'node:string_decoder'

/** Beyond this many characters of a line that is too long nothing is kept. */
const HEAD_CHARS = 1_000

export interface LineEnds {
  onLine: (line: string) => void
  /** A line of that many characters, of which only the head was kept. */
  onTooLong: (head: string, length: number) => void
}

/** Chunks in, lines out. However long a line is, no more than `maxChars` of it are held. */
export class BoundedLines {
  readonly #maxChars: number
  readonly #ends: LineEnds
  readonly #decoder = new StringDecoder('utf8')
  #parts: string[] = []
  #length = 0

  constructor(maxChars: number, ends: LineEnds) {
    this.#maxChars = maxChars
    this.#ends = ends
  }

  readonly write = (chunk: Buffer): void => {
    const [first = '', ...rest] = this.#decoder.write(chunk).split('\n')
    this.#add(first)
    for (const part of rest) {
      this.#end()
      this.#add(part)
    }
  }

  /** What had no end of line. */
  readonly end = (): void => {
    if (this.#length > 0) this.#end()
  }

  #add(part: string): void {
    if (part === '') return
    const before = this.#length
    this.#length += part.length
    if (this.#length <= this.#maxChars) this.#parts.push(part)
    else if (before <= this.#maxChars) this.#parts = [[...this.#parts, part].join('').slice(0, HEAD_CHARS)]
  }

  #end(): void {
    const [text, length] = [this.#parts.join(''), this.#length]
    this.#parts = []
    this.#length = 0
    if (length > this.#maxChars) this.#ends.onTooLong(text, length)
    else this.#ends.onLine(text.endsWith('\r') ? text.slice(0, -1) : text)
  }
}
