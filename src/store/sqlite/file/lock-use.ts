import type { LockUse } from '../../ports/store.ts'

/** Counts what one connection does with the write lock of its file: two looks at the clock for each transaction. */
export class LockMeter implements LockUse {
  writes = 0
  busyMs = 0
  waits = 0
  waitedMs = 0
  #heldSinceMs = Number.NaN
  #missedSinceMs = Number.NaN

  /** Another connection has the lock. */
  missed(): void {
    if (Number.isNaN(this.#missedSinceMs)) this.#missedSinceMs = performance.now()
  }

  acquired(): void {
    this.#heldSinceMs = performance.now()
    if (Number.isNaN(this.#missedSinceMs)) return
    this.waits += 1
    this.waitedMs += this.#heldSinceMs - this.#missedSinceMs
    this.#missedSinceMs = Number.NaN
  }

  /** After the commit, whose sync of the disk is a part of it, or after a rollback. */
  released(): void {
    if (Number.isNaN(this.#heldSinceMs)) return
    this.writes += 1
    this.busyMs += performance.now() - this.#heldSinceMs
    this.#heldSinceMs = Number.NaN
  }
}
