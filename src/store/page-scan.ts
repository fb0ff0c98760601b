import type { Page } from '../model/task.ts'
import { readCursor, writeCursor } from './cursor.ts'
import { PageBytes } from './page-bytes.ts'
import type { PageRequest } from './ports/page.ts'

/** Rows that one page looks at, at most, when its filter has no index: it may be short and still have a `next`. */
const SCAN_MAX = 5_000
/** Rows of one look, when not every one of them fits. */
const LOOK_ROWS = 1_000

/** A row that a listing has passed: its place in the order, and itself if the filter names it. */
export interface Passed<Row> {
  at: readonly number[]
  row: Row | null
}

/** Where to go on; without a place, from the beginning. */
export interface Look {
  after: number[]
  count: number
}

/** Fills one page from looks along an index: how far it goes is bounded, whatever the filter. */
export class PageScan<Row> {
  readonly rows: Row[] = []
  readonly #limit: number
  readonly #count: number
  readonly #bytes = new PageBytes()
  readonly #carried: (row: Row) => unknown
  #after: number[]
  #looked = 0
  #over: 'page' | 'listing' | null = null

  /**
   * `size`: the numbers of a place. `selective`: rows may not fit, though the index led to them. `carried`: what the page carries of
   * a row, whose bytes are bounded.
   */
  constructor(
    { limit, cursor }: PageRequest,
    {
      size,
      selective,
      carried,
    }: { size: number; selective: boolean; carried?: ((row: Row) => unknown) | undefined },
  ) {
    this.#carried = carried ?? (() => null)
    this.#limit = limit
    this.#count = selective ? LOOK_ROWS : limit + 1
    this.#after = readCursor(cursor, size)
  }

  /** Null: the page is done. */
  get look(): Look | null {
    return this.#over === null ? { after: this.#after, count: this.#count } : null
  }

  saw(passed: readonly Passed<Row>[]): void {
    for (const { at, row } of passed) {
      const isFull = this.rows.length === this.#limit
      if (isFull || (row !== null && !this.#bytes.hasRoomFor(this.#carried(row)))) {
        this.#over = 'page'
        return
      }
      this.#after = [...at]
      this.#looked += 1
      if (row !== null) this.rows.push(row)
    }
    if (passed.length < this.#count) this.#over = 'listing'
    else if (this.#looked >= SCAN_MAX) this.#over = 'page'
  }

  /** As the cursor of the next page. */
  get next(): string | null {
    return this.#over === 'listing' ? null : writeCursor(this.#after)
  }

  page<Item>(items: Item[]): Page<Item> {
    return { items, next: this.next }
  }
}
