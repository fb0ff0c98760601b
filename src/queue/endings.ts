import type { Clock } from '../clock.ts'
import type { Change } from '../store/ports/change.ts'
import type { Store } from '../store/ports/store.ts'
import type { Ending } from '../store/ports/tasks.ts'

/** Tasks looked at in one go when nobody says which of them ended. */
const LOOK_MAX = 500

/** `undefined`: the wait is over without an ending. */
type Answer = Ending | undefined | 'closed'
type Resolve = (answer: Answer) => void

/** Those who wait for tasks to end, wherever these run. */
export class Endings {
  readonly #store: Pick<Store, 'tasks' | 'onChange'>
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #waiting = new Map<string, Set<Resolve>>()
  #unsubscribe: (() => void) | undefined
  #cancelPoll: (() => void) | undefined
  #toLookAt = new Set<string>()
  #looking = false
  #closed = false

  /** `pollMs`: how often to look should every wake-up be lost. */
  constructor(store: Pick<Store, 'tasks' | 'onChange'>, clock: Clock, pollMs: number) {
    this.#store = store
    this.#clock = clock
    this.#pollMs = pollMs
  }

  /** The ending; `undefined` when `timeoutMs` have passed before, `closed` when the engine was closed. */
  wait(id: string, timeoutMs: number | undefined): Promise<Answer> {
    if (this.#closed) return Promise.resolve('closed')
    return new Promise((resolve) => {
      const done = (answer: Answer) => {
        cancelTimeout?.()
        this.#forget(id, done)
        resolve(answer)
      }
      const cancelTimeout =
        timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => done(undefined))
      const others = this.#waiting.get(id)
      if (others === undefined) this.#waiting.set(id, new Set([done]))
      else others.add(done)
      this.#unsubscribe ??= this.#store.onChange((change) => this.#onChange(change))
      // It may have ended before we began to listen.
      this.#look([id])
    })
  }

  close(): void {
    this.#closed = true
    for (const waiting of [...this.#waiting.values()]) for (const done of [...waiting]) done('closed')
  }

  #forget(id: string, done: Resolve): void {
    const waiting = this.#waiting.get(id)
    waiting?.delete(done)
    if (waiting?.size === 0) this.#waiting.delete(id)
    if (this.#waiting.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
  }

  #onChange(change: Change): void {
    if (change.kind === 'ended') this.#look(change.ids.filter((id) => this.#waiting.has(id)))
    else if (change.kind === 'elsewhere' && (change.only ?? 'ended') === 'ended')
      this.#look(this.#someWaiting())
  }

  /** Round robin, so that thousands of handles do not cost thousands of reads at every change. */
  #someWaiting(): string[] {
    const ids = [...this.#waiting.keys()].slice(0, LOOK_MAX)
    for (const id of ids) {
      const waiting = this.#waiting.get(id)!
      this.#waiting.delete(id)
      this.#waiting.set(id, waiting)
    }
    return ids
  }

  #look(ids: readonly string[]): void {
    for (const id of ids) this.#toLookAt.add(id)
    if (this.#looking || this.#toLookAt.size === 0) return
    this.#looking = true
    setImmediate(() => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    const ids = [...this.#toLookAt]
    this.#toLookAt = new Set()
    // A failed look is not the end of the wait: the poll looks again.
    const endings = await this.#store.tasks.endings(ids).catch(() => new Map<string, Ending>())
    this.#looking = false
    for (const [id, ending] of endings) {
      for (const done of [...(this.#waiting.get(id) ?? [])]) done(ending)
    }
    if (this.#waiting.size > 0) this.#poll()
    this.#look([])
  }

  #poll(): void {
    this.#cancelPoll ??= this.#clock.after(this.#pollMs, () => {
      this.#cancelPoll = undefined
      this.#look(this.#someWaiting())
    })
  }
}
