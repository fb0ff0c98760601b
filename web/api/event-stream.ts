import { readExactly } from '../../src/exact-json.ts'
import { send } from './client.ts'

/**
 * One stream of events that comes back by itself and goes on where it was. A browser's own EventSource could not send a token.
 */

export type Connection = 'connecting' | 'live' | 'lost'

export interface StreamHandlers {
  onEvent(event: string, data: unknown): void
  onConnection(connection: Connection): void
}

/** The server says something every 15 s: after twice that, the line is dead. */
const SILENT_MS = 32_000
const HIDDEN_MS = 10_000
const AGAIN_MIN_MS = 500
const AGAIN_MAX_MS = 5_000

export class EventStream {
  readonly #handlers: StreamHandlers
  #path: string
  #lastId: string | null = null
  #abort: AbortController | null = null
  #againMs = AGAIN_MIN_MS
  #timer: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #closed = false

  constructor(path: string, handlers: StreamHandlers) {
    this.#path = path
    this.#handlers = handlers
    void this.#open()
    addEventListener('online', this.#now)
    addEventListener('offline', this.#onOffline)
    document.addEventListener('visibilitychange', this.#onVisibility)
  }

  /** Listens to something else from now on, on a new line. */
  turnTo(path: string): void {
    if (path === this.#path) return
    this.#path = path
    this.#lastId = null
    this.#now()
  }

  close(): void {
    this.#closed = true
    removeEventListener('online', this.#now)
    removeEventListener('offline', this.#onOffline)
    document.removeEventListener('visibilitychange', this.#onVisibility)
    clearTimeout(this.#timer)
    clearTimeout(this.#silence)
    this.#abort?.abort()
  }

  readonly #onOffline = () => this.#abort?.abort()

  /** A browser has six lines to a server, for all its tabs: those that nobody looks at need none. */
  readonly #onVisibility = () => {
    clearTimeout(this.#timer)
    if (!document.hidden) return this.#now()
    this.#timer = setTimeout(() => {
      this.#abort?.abort()
      this.#abort = null
    }, HIDDEN_MS)
  }

  readonly #now = () => {
    this.#abort?.abort()
    clearTimeout(this.#timer)
    void this.#open()
  }

  async #open(): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    try {
      const headers = this.#lastId === null ? undefined : { 'last-event-id': this.#lastId }
      const response = await send(this.#path, { signal: abort.signal, headers })
      this.#handlers.onConnection('live')
      this.#againMs = AGAIN_MIN_MS
      await this.#read(response.body!, abort)
    } catch {
      // Why does not matter: it is tried again.
    }
    clearTimeout(this.#silence)
    if (this.#closed || this.#abort !== abort) return
    this.#handlers.onConnection('lost')
    this.#timer = setTimeout(() => void this.#open(), this.#againMs * (0.75 + Math.random() / 2))
    this.#againMs = Math.min(this.#againMs * 2, AGAIN_MAX_MS)
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const reader = body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .getReader()
    let rest = ''
    for (;;) {
      clearTimeout(this.#silence)
      this.#silence = setTimeout(() => abort.abort(), SILENT_MS)
      const { value, done } = await reader.read()
      if (done) return
      const parts = (rest + value).split('\n\n')
      rest = parts.pop()!
      for (const part of parts) this.#tell(part)
    }
  }

  #tell(text: string): void {
    const fields = new Map(text.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]))
    const id = fields.get('id')
    if (id !== undefined) this.#lastId = id
    const event = fields.get('event')
    if (event !== undefined) this.#handlers.onEvent(event, readExactly(fields.get('data') ?? 'null'))
  }
}
