import type { Entry, EventLog } from './event-log.ts'

/** What goes out at once. */
const CHUNK_CHARS = 64 * 1024
/** A browser whose connection broke waits that long before it asks again. */
const RETRY_MS = 2_000
const HEARTBEAT = ':\n\n'

/**
 * One client. It holds no events, only its place in the log, so that a slow one costs nothing: it is asked for what is next when
 * what it was given is on its way, and if the log has moved on by then it is told so.
 */
export class Subscription {
  readonly topics: ReadonlySet<string>
  readonly #log: EventLog
  readonly #latest: ReadonlyMap<string, Entry>
  readonly #heartbeatMs: number
  #place: number
  #opening: string
  #wake: (() => void) | undefined
  #closed = false

  constructor(
    log: EventLog,
    latest: ReadonlyMap<string, Entry>,
    topics: ReadonlySet<string>,
    options: { lastEventId: string | null; heartbeatMs: number },
  ) {
    this.#log = log
    this.#latest = latest
    this.topics = topics
    this.#heartbeatMs = options.heartbeatMs
    const { lastEventId } = options
    const place = lastEventId === null ? null : log.placeOf(lastEventId)
    this.#place = place ?? log.seq
    this.#opening = `retry: ${RETRY_MS}\n\n`
    if (lastEventId === null) this.#opening += this.#asItIs()
    else if (place === null) this.#opening += this.#gap('restarted')
  }

  /** What is next to be sent; waits for it. Null: it is over. */
  async next(): Promise<string | null> {
    while (!this.#closed) {
      const text = this.#take()
      if (text !== '') return text
      if (!(await this.#news())) return this.#closed ? null : HEARTBEAT
    }
    return null
  }

  wake(): void {
    this.#wake?.()
  }

  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  #take(): string {
    let text = this.#opening
    this.#opening = ''
    if (!this.#log.reaches(this.#place)) return text + this.#gap('too-late')
    for (const { seq, topic, text: event } of this.#log.after(this.#place)) {
      if (text.length > CHUNK_CHARS) break
      if (this.topics.has(topic)) text += event
      this.#place = seq
    }
    return text
  }

  /** Says that something is missing, and then how things are. */
  #gap(reason: 'restarted' | 'too-late'): string {
    this.#place = this.#log.seq
    return `event: gap\ndata: {"reason":"${reason}"}\n\n${this.#asItIs()}`
  }

  #asItIs(): string {
    const known = [...this.topics].flatMap((topic) => this.#latest.get(topic) ?? [])
    // The id of the last one is where this client stands.
    return known
      .sort((a, b) => a.seq - b.seq)
      .map(({ text }) => text)
      .join('')
  }

  /** False: nothing came for a while. */
  #news(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.#heartbeatMs).unref()
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve(true)
      }
    })
  }
}
