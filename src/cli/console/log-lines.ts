/** As much of a stream as a log needs. */
export type LogStream = Pick<NodeJS.WriteStream, 'write' | 'writableLength'>

/** Nobody reads what waits behind that: a pipe that is full, and this beside it. */
const UNREAD_MAX_BYTES = 1_048_576

/**
 * Lines of a log that goes on for ever. A reader that has stopped reading costs lines, which are counted: it does not block
 * the event loop, and does not fill the memory.
 */
export class LogLines {
  readonly #stream: LogStream
  readonly #note: (leftOut: number) => string
  #leftOut = 0

  /** `note`: the line that stands for those that were left out. */
  constructor(stream: LogStream, note: (leftOut: number) => string) {
    this.#stream = stream
    this.#note = note
  }

  write(line: string): void {
    if (this.#stream.writableLength > UNREAD_MAX_BYTES) {
      this.#leftOut += 1
      return
    }
    const leftOut = this.#leftOut
    this.#leftOut = 0
    if (leftOut > 0) this.#stream.write(this.#note(leftOut))
    this.#stream.write(line)
  }
}

export function leftOutWords(lines: number): string {
  return `${lines} ${lines === 1 ? 'line was' : 'lines were'} dropped here, because no process read this log`
}
