import type { OpenLanes } from './open-lanes.ts'

/** For how long claims keep to the lanes that had something when all were read. */
const KNOWN_MS = 1_000

/** Which lanes had something when all were read. */
export class ReadyLanes {
  readonly #known = new WeakMap<OpenLanes, { lanes: ReadonlySet<number>; untilMs: number }>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  found(open: OpenLanes, lanes: ReadonlySet<number>): void {
    this.#known.set(open, { lanes, untilMs: this.#nowMs() + KNOWN_MS })
  }

  of(open: OpenLanes): ReadonlySet<number> | null {
    const known = this.#known.get(open)
    return known !== undefined && known.lanes.size > 0 && this.#nowMs() < known.untilMs ? known.lanes : null
  }
}
