import { rankOf, virtualTime } from '../../../model/rank.ts'
import { plainQueue, QUEUE_COLUMNS, type Queue, type QueueRow, queueOf } from '../../queue-row.ts'
import type { Statements } from '../file/statements.ts'

const VERSION = `SELECT value FROM gleaner_meta WHERE key = 'queues'`

/** The settings of the queues as last seen, and the ranks that follow from them. */
export class QueueCache {
  readonly #db: Statements
  readonly #random: () => number
  #queues = new Map<string, Queue>()
  #paused: ReadonlySet<string> = new Set()
  #isAnyWeighted = false
  #version = Number.NaN

  constructor(db: Statements, random: () => number) {
    this.#db = db
    this.#random = random
  }

  /** A rolled back transaction may have seen changes that never were. */
  forget(): void {
    this.#version = Number.NaN
  }

  /** In every transaction, before the first question: reads them again if they have changed. */
  knowing(version = this.#db.scalar(VERSION).get() as number): void {
    if (version === this.#version) return
    const rows = this.#db.sql(`SELECT ${QUEUE_COLUMNS} FROM gleaner_queues`).all() as QueueRow[]
    this.#queues = new Map(rows.map((row) => [row.name, queueOf(row)]))
    this.#paused = new Set(this.all().flatMap(({ name, paused }) => (paused ? [name] : [])))
    this.#isAnyWeighted = this.all().some((queue) => queue.strategy === 'weighted')
    this.#version = version
  }

  get random(): () => number {
    return this.#random
  }

  of(name: string): Queue {
    return this.#queues.get(name) ?? plainQueue(name)
  }

  all(): Queue[] {
    return [...this.#queues.values()]
  }

  /** The names of those that are. */
  get paused(): ReadonlySet<string> {
    return this.#paused
  }

  get isAnyWeighted(): boolean {
    return this.#isAnyWeighted
  }

  /** Inside a write transaction: the rank of one that became queued at this time. */
  draw(name: string, priority: number, queuedAtMs: number): number {
    const queue = this.of(name)
    return rankOf(queue, priority, this.#moment(queue, queuedAtMs), this.#random)
  }

  drawMany(name: string, priority: number, queuedAtMs: number, count: number): number[] {
    const queue = this.of(name)
    const moment = this.#moment(queue, queuedAtMs)
    return Array.from({ length: count }, () => rankOf(queue, priority, moment, this.#random))
  }

  #moment({ name, strategy }: Queue, queuedAtMs: number): number {
    return strategy === 'weighted' ? this.#race(name) : queuedAtMs
  }

  #race(name: string): number {
    return this.#db.scalar('SELECT race FROM gleaner_queues WHERE name = ?').get(name) as number
  }

  /** Inside a write transaction: one of this rank was started. */
  advance(name: string, startedRank: number): void {
    const moment = virtualTime(this.of(name), startedRank)
    if (moment === null) return
    this.#db.sql('UPDATE gleaner_queues SET race = ? WHERE name = ? AND race < ?').run(moment, name, moment)
  }
}
