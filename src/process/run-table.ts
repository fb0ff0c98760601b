import type { Attempt } from '../worker/attempt/attempt.ts'
import type { RunWatch } from '../worker/in-flight.ts'
import type { FrameItem } from './frame.ts'

/** Of each run: version, length of its name, fence, since, deadline, and its name. */
const SLOT_BYTES = 256
const NAME_BYTES = SLOT_BYTES - 32
const HEADER_BYTES = 64
const SLOTS_MAX = 10_000

/** In the header: how many run, as its first 32-bit word, and when the event loop last turned, as its second number. */
const RUNNING = 0
const TURNED = 1

/**
 * What a worker runs, in memory that it shares with its keeper: written before a handler is called, so that the keeper
 * can tell it while the event loop is blocked. A run costs some hundred nanoseconds here, a message would cost ten times that.
 */
export class SharedRunTable implements RunWatch {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #numbers: Float64Array
  readonly #bytes: Buffer
  readonly #slots: number

  constructor(slotsOrMemory: number | SharedArrayBuffer) {
    this.memory =
      typeof slotsOrMemory === 'number'
        ? new SharedArrayBuffer(HEADER_BYTES + Math.min(slotsOrMemory, SLOTS_MAX) * SLOT_BYTES)
        : slotsOrMemory
    this.#words = new Int32Array(this.memory)
    this.#numbers = new Float64Array(this.memory)
    this.#bytes = Buffer.from(this.memory)
    this.#slots = (this.memory.byteLength - HEADER_BYTES) / SLOT_BYTES
  }

  began(attempt: Attempt): void {
    this.#write(attempt.place, attempt)
    this.#runs(Atomics.load(this.#words, RUNNING) + 1)
  }

  timed(attempt: Attempt): void {
    this.#write(attempt.place, attempt)
  }

  ended(place: number, successor: Attempt | null): void {
    if (successor !== null) this.#write(place, successor)
    this.#runs(Atomics.load(this.#words, RUNNING) - 1)
  }

  /** The event loop has turned: says when, in milliseconds of the process's monotonic clock. */
  turned(nowMs: number): void {
    this.#numbers[TURNED] = nowMs
  }

  /** When the event loop last said that it turned. */
  get turnedMs(): number {
    return this.#numbers[TURNED]!
  }

  get running(): number {
    return Atomics.load(this.#words, RUNNING)
  }

  /** Resolves when the worker has begun to run something, or has come to rest, since so many were seen to run. */
  change(running: number): Promise<unknown> {
    return Promise.resolve(Atomics.waitAsync(this.#words, RUNNING, running).value)
  }

  /** What runs, the earliest deadline first. `nowMs`: of the clock that deadlines are measured with. */
  items(max: number, nowMs: number, now: number): FrameItem[] {
    const items: FrameItem[] = []
    for (let place = 0; place < Math.min(this.running, this.#slots); place++) {
      const item = this.#read(place, nowMs, now)
      if (item !== undefined) items.push(item)
    }
    return items.sort((a, b) => (a.deadline ?? Infinity) - (b.deadline ?? Infinity)).slice(0, max)
  }

  /** Only the first and the last run are news: anything between would wake the keeper for nothing. */
  #runs(running: number): void {
    const before = Atomics.exchange(this.#words, RUNNING, running)
    if (before === 0 || running === 0) Atomics.notify(this.#words, RUNNING)
  }

  #write(place: number, { item, claim, startedAt, deadlineMs }: Attempt): void {
    if (place >= this.#slots) return
    const at = HEADER_BYTES + place * SLOT_BYTES
    const [word, number] = [at / 4, at / 8]
    // Odd during a write: a reader then knows that the entry is half of one run and half of another.
    Atomics.add(this.#words, word, 1)
    this.#words[word + 1] = this.#bytes.write(item, at + 32, NAME_BYTES, 'utf8')
    this.#numbers[number + 1] = claim.fence
    this.#numbers[number + 2] = startedAt
    this.#numbers[number + 3] = deadlineMs
    Atomics.add(this.#words, word, 1)
  }

  #read(place: number, nowMs: number, now: number): FrameItem | undefined {
    const at = HEADER_BYTES + place * SLOT_BYTES
    const [word, number] = [at / 4, at / 8]
    const version = Atomics.load(this.#words, word)
    const length = this.#words[word + 1]!
    const item = this.#bytes.toString('utf8', at + 32, at + 32 + length)
    const [fence, since, deadlineMs] = this.#numbers.subarray(number + 1, number + 4)
    if (version % 2 !== 0 || Atomics.load(this.#words, word) !== version) return undefined
    const leftMs = deadlineMs! - nowMs
    return {
      item,
      fence: fence!,
      since: since!,
      deadline: Number.isFinite(leftMs) ? Math.round(now + leftMs) : null,
    }
  }
}
