import { BoundedLines } from './bounded-lines.ts'
import { decodeFrame, type Frame } from './frame.ts'
import { decodeReport, type WorkReport } from './work-report.ts'

/** More lines in a second are not read: a process that floods its pipe costs the others nothing. */
const FRAMES_PER_SECOND = 1_000
const LINE_MAX_CHARS = 64 * 1024

/** Reads a worker's health pipe: frames and reports are passed on, anything else is counted. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  readonly #onReport: (report: WorkReport) => void
  readonly #nowMs: () => number
  readonly #lines = new BoundedLines(LINE_MAX_CHARS, {
    onLine: (line) => this.#read(line),
    onTooLong: () => this.#ignore(),
  })
  #secondMs = Number.NEGATIVE_INFINITY
  #looked = 0
  /** Lines that were no frames, too long, or too many. */
  noise = 0

  constructor(
    onFrame: (frame: Frame) => void,
    nowMs: () => number = () => performance.now(),
    onReport: (report: WorkReport) => void = () => {},
  ) {
    this.#onFrame = onFrame
    this.#onReport = onReport
    this.#nowMs = nowMs
  }

  add(chunk: Buffer): void {
    if (this.#nowMs() - this.#secondMs >= 1_000) {
      this.#secondMs = this.#nowMs()
      this.#looked = 0
    }
    this.#lines.write(chunk)
  }

  #read(line: string): void {
    if (this.#looked >= FRAMES_PER_SECOND) return this.#ignore()
    this.#looked += 1
    const report = decodeReport(line)
    if (report !== undefined) return this.#onReport(report)
    const decoded = decodeFrame(line)
    if (decoded.kind === 'noise') this.#ignore()
    else this.#onFrame(decoded)
  }

  #ignore(): void {
    this.noise += 1
  }
}
