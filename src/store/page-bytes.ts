import { writeExactly } from '../exact-json.ts'

/** Of the items of one page, as JSON. One item may be larger: then it is a page of its own. */
export const PAGE_BYTES_MAX = 2 ** 20

/** Counts what a page carries, so that no list is larger than a server can send. */
export class PageBytes {
  #bytes = 0

  /** False: the page is full, and the item belongs to the next one. */
  hasRoomFor(item: unknown): boolean {
    const isFirst = this.#bytes === 0
    this.#bytes += Buffer.byteLength(writeExactly(item))
    return isFirst || this.#bytes <= PAGE_BYTES_MAX
  }
}
