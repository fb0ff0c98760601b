import { randomBytes } from 'node:crypto'

/** One event, as it goes out. */
export interface Entry {
  seq: number
  topic: string
  text: string
}

const ENTRIES_MAX = 2_000
const CHARS_MAX = 4 * 1024 * 1024

/** The last events, for whoever was away for a moment. It forgets the oldest, and knows that it did. */
export class EventLog {
  /** Events of another life of this server have numbers that mean something else. */
  readonly #epoch = randomBytes(6).toString('hex')
  #entries: Entry[] = []
  #chars = 0
  /** Of the last event. */
  seq = 0

  add(topic: string, event: string, json: string): Entry {
    this.seq += 1
    const text = `id: ${this.#epoch}.${this.seq}\nevent: ${event}\ndata: ${json}\n\n`
    const entry = { seq: this.seq, topic, text }
    this.#entries.push(entry)
    this.#chars += text.length
    while (this.#entries.length > ENTRIES_MAX || this.#chars > CHARS_MAX)
      this.#chars -= this.#entries.shift()!.text.length
    return entry
  }

  /** The place that an id names; null: it is of another life. */
  placeOf(id: string): number | null {
    const [, epoch, seq] = /^([0-9a-f]{12})\.(\d{1,15})$/.exec(id) ?? []
    return epoch === this.#epoch && Number(seq) <= this.seq ? Number(seq) : null
  }

  /** Whether everything that came after this place is still here. */
  reaches(place: number): boolean {
    return place === this.seq || (this.#entries[0]?.seq ?? Number.POSITIVE_INFINITY) <= place + 1
  }

  /** All that came after this place, in order. */
  after(place: number): Iterable<Entry> {
    const first = this.#entries[0]?.seq ?? 0
    return this.#entries.slice(Math.max(0, place + 1 - first))
  }
}
