import { distanceOf, isLastFirst } from '../../../model/rank.ts'
import { plainQueue, QUEUE_COLUMNS, type Queue, type QueueRow, queueOf } from '../../queue-row.ts'
import type { Sql } from '../server/sql.ts'
import { readVirtualTimes } from './virtual-times.ts'

/** One that becomes queued. */
export interface Newcomer {
  queue: string
  priority: number
  queuedAtMs: number
}

/** The settings of the queues as last seen, and the ranks that follow from them. */
export class QueueCache {
  readonly #sql: Sql
  readonly #random: () => number
  readonly #onOutdated: () => void
  #queues = new Map<string, Queue>()
  #hasWeighted = false
  #version: number | undefined

  /** `onOutdated`: something was ranked by settings that had changed. */
  constructor(sql: Sql, random: () => number, onOutdated: () => void) {
    this.#sql = sql
    this.#random = random
    this.#onOutdated = onOutdated
  }

  /** Of the settings, as they were when they were last read. */
  get version(): number | undefined {
    return this.#version
  }

  /** Reads them again, unless that is what is known. */
  async knowing(version: number, sql: Sql = this.#sql): Promise<void> {
    if (version !== this.#version) await this.refresh(sql)
  }

  /** Before the first question. Who asks later may hear of a change a moment late: what is ranked meanwhile is re-ranked. */
  async known(sql: Sql = this.#sql): Promise<void> {
    if (this.#version === undefined) await this.refresh(sql)
  }

  outdated(): void {
    this.#version = undefined
    this.#onOutdated()
  }

  async refresh(sql: Sql = this.#sql): Promise<void> {
    type Row = QueueRow & { version: number }
    const rows = await sql.rows<Row>(
      `SELECT ${QUEUE_COLUMNS}, value AS version FROM gleaner.settings LEFT JOIN gleaner.queues ON true
       WHERE key = 'queues'`,
    )
    this.#queues = new Map(rows.filter(({ name }) => name !== null).map((row) => [row.name, queueOf(row)]))
    this.#hasWeighted = this.all().some(({ strategy }) => strategy === 'weighted')
    // A connection of the user's own may tell large numbers as text.
    this.#version = Number(rows[0]!.version)
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

  isWeighted(name: string): boolean {
    return this.of(name).strategy === 'weighted'
  }

  /** Of all there are. */
  get hasWeighted(): boolean {
    return this.#hasWeighted
  }

  isLastFirst(name: string): boolean {
    return isLastFirst(this.of(name))
  }

  /** A rank without its moment: the server adds the time, or how far the race has come. */
  distance(name: string, priority: number): number {
    return distanceOf(this.of(name), priority, this.#random)
  }

  async draw(sql: Sql, newcomer: Newcomer): Promise<number> {
    return (await this.drawAll(sql, [newcomer]))[0]!
  }

  async drawAll(sql: Sql, newcomers: readonly Newcomer[]): Promise<number[]> {
    const weighted = newcomers.map(({ queue }) => queue).filter((queue) => this.isWeighted(queue))
    const races = await readVirtualTimes(sql, [...new Set(weighted)])
    return newcomers.map(({ queue, priority, queuedAtMs }) => {
      const moment = this.isWeighted(queue) ? (races.get(queue) ?? 0) : queuedAtMs
      return this.distance(queue, priority) + moment
    })
  }
}
