import type { Change, Hears, Listener } from '../../ports/change.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import { Awaited } from './awaited.ts'
import type { Database } from './database.ts'
import { isWork } from './wakeups.ts'

/** Those in this process who want to know what changed. */
export class Listeners {
  readonly #all = new Map<Listener, Hears | undefined>()
  /** Undefined: nobody is notified. */
  readonly #awaited: Awaited | undefined
  #waiting = 0
  /** Something to do was told of since the last claim, or may have been before: it is worth a transaction without a look. */
  #isExpectant = true

  constructor(database: Database, { notify = true }: PostgresOptions) {
    if (notify) this.#awaited = new Awaited(database, (change) => this.tell(change))
  }

  add(listener: Listener, hears?: Hears): () => void {
    this.#all.set(listener, hears)
    if (hears === undefined) this.#wait(1)
    return () => {
      if (this.#all.delete(listener) && hears === undefined) this.#wait(-1)
    }
  }

  #wait(change: 1 | -1): void {
    this.#waiting += change
    if (this.#awaited !== undefined) this.#awaited.isWaiting = this.#waiting > 0
  }

  /** Whether a worker takes what it was told of. */
  readonly tell = (change: Change): boolean => {
    if (isWork(change)) this.#isExpectant = true
    const isForOthers = change.kind === 'elsewhere' && change.task?.turn === 'others'
    let isTaken = false
    for (const [listener, hears] of this.#all) {
      if (hears !== undefined && isForOthers) continue
      isTaken = listener(change) === true || isTaken
    }
    return isTaken
  }

  /** Asked by whoever claims now. */
  expected(): boolean {
    const expected = this.#isExpectant
    this.#isExpectant = false
    return expected
  }

  close(): void {
    this.#all.clear()
    this.#awaited?.close()
  }
}
