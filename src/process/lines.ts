const NEWLINE = 0x0a
const LINE_MAX_BYTES = 64 * 1024

/** Cuts what comes through a pipe into lines. Memory is bounded: a line that is too long is thrown away, and told of. */
export class Lines {
  readonly #onLine: (line: string) => void
  readonly #onTooLong: () => void
  readonly #maxBytes: number
  #begun: Buffer[] = []
  #begunBytes = 0
  #skipping = false

  constructor(
    onLine: (line: string) => void,
    onTooLong: () => void = () => {},
    maxBytes: number = LINE_MAX_BYTES,
  ) {
    this.#onLine = onLine
    this.#onTooLong = onTooLong
    this.#maxBytes = maxBytes
  }

  add(chunk: Buffer): void {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      this.#append(chunk.subarray(from, to))
      this.#end()
      from = to + 1
    }
    if (from < chunk.length) this.#append(chunk.subarray(from))
  }

  #append(part: Buffer): void {
    if (this.#skipping) return
    this.#begunBytes += part.length
    if (this.#begunBytes > this.#maxBytes) {
      this.#skipping = true
      this.#begun = []
      return
    }
    // A copy: a slice would keep the whole chunk in memory for as long as its line is not complete.
    this.#begun.push(Buffer.from(part))
  }

  #end(): void {
    const skipped = this.#skipping
    const [only, another] = this.#begun
    const line = another === undefined ? only : Buffer.concat(this.#begun)
    this.#skipping = false
    this.#begun = []
    this.#begunBytes = 0
    if (skipped) this.#onTooLong()
    else this.#onLine(line?.toString('utf8') ?? '')
  }
}
