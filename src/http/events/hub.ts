import { writeExactly } from '../../exact-json.ts'
import type { Store } from '../../store/ports/store.ts'
import { Problem } from '../protocol/problem.ts'
import type { Redact } from '../protocol/redact.ts'
import { type Entry, EventLog } from './event-log.ts'
import { Lookout } from './lookout.ts'
import { Subscription } from './subscription.ts'

export interface HubOptions {
  store: Pick<Store, 'onChange'> & { tasks: Pick<Store['tasks'], 'getTask'> }
  redact: Redact
  /** How things are now, for each topic. */
  topics: Readonly<Record<string, Topic>>
  timings?: HubTimings
}

export interface Topic {
  read: () => Promise<unknown>
  /** It costs more than others: once in that time is enough. */
  everyMs?: number
  /** It may take long, and keeps no other waiting. */
  isSlow?: boolean
}

/** How often the stream of events reads the database. */
export interface HubTimings {
  /** The shortest time between two events of a topic. Default 250. */
  lookMs?: number
  /** How often to check for changes if no notification arrives. Default 2 000. */
  pollMs?: number
  /** After how much silence the server sends a comment, to notice clients that are gone. Default 15 000. */
  heartbeatMs?: number
}

const CLIENTS_MAX = 1_000
export const WATCHED_MAX = 100
const WATCHED_BY_ALL_MAX = 1_000
/** A page that is loaded anew shows how things were a moment ago, until the next look. */
const REMEMBERED_MS = 15_000
const AFTER_ANSWERS_MS = 150

/**
 * Looks how things are when something has changed, here or elsewhere, as long as anybody listens; and tells what is new. One
 * look serves all clients, however many.
 */
export class Hub {
  readonly #options: HubOptions
  readonly #log = new EventLog()
  readonly #latest = new Map<string, Entry>()
  readonly #texts = new Map<string, string>()
  readonly #readAt = new Map<string, number>()
  readonly #clients = new Set<Subscription>()
  /** How many clients want each topic. */
  readonly #wanted = new Map<string, number>()
  #stopListening: (() => void) | undefined
  #poll: NodeJS.Timeout | undefined
  /** What takes long is looked at by another one: nobody who has paused a queue waits for a table to be counted. */
  readonly #lookouts: readonly [topics: Lookout, tasks: Lookout, slow: Lookout]
  /** When the last client left. */
  #leftMs = Number.NEGATIVE_INFINITY

  constructor(options: HubOptions) {
    this.#options = options
    const lookMs = options.timings?.lookMs ?? 250
    this.#lookouts = [
      new Lookout(() => this.#look(() => this.#tellTopics(false)), lookMs),
      new Lookout(() => this.#look(() => this.#tellTasks()), lookMs),
      new Lookout(() => this.#look(() => this.#tellTopics(true)), lookMs),
    ]
  }

  get topics(): string[] {
    return Object.keys(this.#options.topics)
  }

  get clients(): number {
    return this.#clients.size
  }

  checkRoom(wanted: TopicFilter): void {
    if (this.#clients.size >= CLIENTS_MAX) throw tooMany(`${CLIENTS_MAX} clients are connected already`)
    if (wanted.tasks.length === 0) return
    const watched = new Set([...this.#wanted.keys(), ...topicsOf(wanted)].filter(isTask))
    if (watched.size > WATCHED_BY_ALL_MAX) throw tooMany(`${WATCHED_BY_ALL_MAX} tasks are watched already`)
  }

  subscribe(wanted: TopicFilter, lastEventId: string | null): Subscription {
    this.checkRoom(wanted)
    const topics = new Set(topicsOf(wanted))
    if (this.#clients.size === 0) this.#start()
    const heartbeatMs = this.#options.timings?.heartbeatMs ?? 15_000
    const client = new Subscription(this.#log, this.#latest, topics, { lastEventId, heartbeatMs })
    this.#clients.add(client)
    for (const topic of topics) this.#wanted.set(topic, (this.#wanted.get(topic) ?? 0) + 1)
    this.#soon()
    return client
  }

  unsubscribe(client: Subscription): void {
    client.close()
    if (!this.#clients.delete(client)) return
    for (const topic of client.topics) this.#drop(topic)
    if (this.#clients.size === 0) this.#stop()
  }

  close(): void {
    for (const client of [...this.#clients]) this.unsubscribe(client)
  }

  #start(): void {
    if (performance.now() - this.#leftMs > REMEMBERED_MS) this.#forget()
    this.#stopListening = this.#options.store.onChange(() => this.#soon())
    this.#poll = setInterval(() => this.#soon(), this.#options.timings?.pollMs ?? 2_000).unref()
  }

  #stop(): void {
    this.#leftMs = performance.now()
    this.#stopListening?.()
    clearInterval(this.#poll)
    for (const lookout of this.#lookouts) lookout.stop()
  }

  /** What nobody hears of is soon no longer so. */
  #forget(topic?: string): void {
    for (const known of topic === undefined ? [...this.#latest.keys()] : [topic]) {
      this.#latest.delete(known)
      this.#texts.delete(known)
    }
  }

  /** Somebody has changed something here, and looks at what comes of it. */
  acted(): void {
    if (this.#clients.size === 0) return
    // Nor does a topic rest that is read less often than others.
    this.#readAt.clear()
    const [topics, tasks, slow] = this.#lookouts
    topics.hurry(0)
    tasks.hurry(0)
    // What takes long keeps nobody waiting who asks himself what came of it.
    slow.hurry(AFTER_ANSWERS_MS)
  }

  #soon(): void {
    for (const lookout of this.#lookouts) lookout.soon()
  }

  async #look(work: () => Promise<void>): Promise<void> {
    // Of a database that is closed there is nothing to hear any more.
    await work().catch(() => this.close())
  }

  async #tellTopics(slow: boolean): Promise<void> {
    for (const [topic, { read, everyMs = 0, isSlow = false }] of Object.entries(this.#options.topics)) {
      if (isSlow !== slow) continue
      const rested = performance.now() - (this.#readAt.get(topic) ?? Number.NEGATIVE_INFINITY) >= everyMs
      if (!this.#wanted.has(topic) || (this.#latest.has(topic) && !rested)) continue
      this.#readAt.set(topic, performance.now())
      // One that cannot be read is silent, and silences no other.
      await read().then((data) => this.#tell(topic, topic, data), refuseClosed)
    }
  }

  async #tellTasks(): Promise<void> {
    for (const topic of [...this.#wanted.keys()].filter(isTask)) {
      const id = topic.slice(TASK.length)
      const task = await this.#options.store.tasks.getTask(id).catch(refuseClosed)
      if (task === undefined) continue
      // They may be large; who wants to see them asks for the task.
      const { input: _input, result: _result, ...rest } = task ?? { input: null, result: null }
      this.#tell(topic, 'task', { id, task: task === null ? null : rest }, task)
    }
  }

  #tell(topic: string, event: string, data: unknown, about?: unknown): void {
    // Somebody may have left while we were reading.
    if (!this.#wanted.has(topic)) return
    const text = writeExactly(this.#options.redact(data, about))
    if (this.#texts.get(topic) === text) return
    this.#texts.set(topic, text)
    this.#latest.set(topic, this.#log.add(topic, event, text))
    // At once: the topic after this one may take its time.
    for (const client of this.#clients) client.wake()
  }

  #drop(topic: string): void {
    const others = this.#wanted.get(topic)! - 1
    if (others > 0) return void this.#wanted.set(topic, others)
    this.#wanted.delete(topic)
    if (isTask(topic) || this.#clients.size > 0) this.#forget(topic)
  }
}

/** What a client wants to hear of. */
export interface TopicFilter {
  topics: readonly string[]
  /** Ids. */
  tasks: readonly string[]
}

const TASK = 'task:'

function isTask(topic: string): boolean {
  return topic.startsWith(TASK)
}

function topicsOf({ topics, tasks }: TopicFilter): string[] {
  return [...topics, ...tasks.map((id) => `${TASK}${id}`)]
}

/** A database that is away comes back, and the next look tells. Of one that is closed there is nothing to hear any more. */
function refuseClosed(error: unknown): undefined {
  if ((error as { code?: unknown }).code === 'CLOSED') throw error
}

function tooMany(message: string): Problem {
  return new Problem('TOO_BUSY', message, 'Retry later, or close other connections.', {
    headers: { 'retry-after': '10' },
  })
}
