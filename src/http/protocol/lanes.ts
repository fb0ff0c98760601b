import type { HealthRecord } from '../../model/health.ts'
import { recordedOf, withRecorded } from '../../model/recorded-lane.ts'
import type { Page } from '../../model/task.ts'
import type { Lane, Recorded, Timeline } from '../../model/timeline.ts'
import type { SessionStore } from '../../store/ports/sessions.ts'

/** As far back as lanes are shown. */
const SHOWN_MS = 4 * 60 * 60_000
const LINES_PER_PAGE = 1_000
/** Of very many workers not all of that time is read. */
const PAGES_MAX = 8
/** It is written down every 30 s. */
const FRESH_MS = 15_000

/** What workers did: as this process saw it, and as others wrote it down. */
export class Lanes {
  readonly #timeline: Timeline
  readonly #store: SessionStore
  #recorded: Promise<Map<string, Recorded[]>> | undefined
  #readMs = 0

  constructor(timeline: Timeline, store: SessionStore) {
    this.#timeline = timeline
    this.#store = store
  }

  async all(): Promise<Lane[]> {
    return withRecorded(this.#timeline.lanes, await this.#read())
  }

  /** One reading serves all who look within some seconds. */
  #read(): Promise<Map<string, Recorded[]>> {
    if (this.#recorded !== undefined && performance.now() - this.#readMs < FRESH_MS) return this.#recorded
    this.#readMs = performance.now()
    const reading = this.#history().then(recordedOf)
    this.#recorded = reading
    reading.catch(() => {
      if (this.#recorded === reading) this.#recorded = undefined
    })
    return reading
  }

  async #history(): Promise<HealthRecord[]> {
    const since = Date.now() - SHOWN_MS
    const notes: HealthRecord[] = []
    let cursor: string | null = null
    for (let page = 0; page < PAGES_MAX; page++) {
      const { items, next }: Page<HealthRecord> = await this.#store.healthHistory(
        {},
        { limit: LINES_PER_PAGE, cursor },
      )
      notes.push(...items)
      if (next === null || (items.at(-1)?.at ?? 0) < since) break
      cursor = next
    }
    return notes.filter(({ at }) => at >= since)
  }
}
