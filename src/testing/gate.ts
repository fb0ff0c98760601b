import type { Change, Hears } from '../store/ports/change.ts'
import type { Exchange } from '../store/ports/exchange.ts'
import type { NewTask, Within } from '../store/ports/new-task.ts'
import type { RowExchange } from '../store/ports/rows.ts'
import type { Store } from '../store/ports/store.ts'

/** A store whose workers claim only while the gate is open, so that a test decides when work is done. */
export class Gate {
  readonly store: Store
  readonly #onChange: () => void
  readonly #listeners = new Set<(change: Change) => void>()
  #isOpen = false
  #underWay = 0

  /** `onChange` is told when a call has been answered. */
  constructor(store: Store, onChange: () => void) {
    this.#onChange = onChange
    const { tasks, sessions, rows, steps, flows, admin, maintenance } = store
    this.store = {
      ...store,
      tasks: this.#watched({
        ...tasks,
        exchange: (exchange) => tasks.exchange(this.#admitted(exchange)),
        within: (transaction) => this.#told(tasks.within(transaction)),
      }),
      sessions: this.#watched(sessions),
      rows: this.#watched({
        ...rows,
        exchangeRows: (exchange) => rows.exchangeRows(this.#admitted(exchange)),
      }),
      steps: this.#watched(steps),
      flows: this.#watched(flows),
      admin: this.#watched(admin),
      maintenance: this.#watched(maintenance),
      onChange: (listener, hears) => this.#listen(store, listener, hears),
    }
  }

  /** Nobody waits for an answer of the store. */
  get isQuiet(): boolean {
    return this.#underWay === 0
  }

  open(): void {
    this.#isOpen = true
    this.#tell()
  }

  shut(): void {
    this.#isOpen = false
  }

  #admitted<E extends Exchange | RowExchange>(exchange: E): E {
    if (!this.#isOpen || exchange.want === null) return { ...exchange, want: null }
    // Handlers take no time on this clock, so a worker would hold hundreds ahead, and what is more urgent would wait.
    return { ...exchange, want: { ...exchange.want, ahead: 0 } }
  }

  /** Only another connection's writes are seen by themselves, and in memory there is no other. */
  #told(within: Within): Within {
    const enqueue = (tasks: readonly NewTask[]) => {
      this.#tell()
      return within.enqueue(tasks)
    }
    return { ...within, enqueue }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener({ kind: 'work' })
  }

  #listen(store: Store, listener: (change: Change) => void, hears?: Hears): () => void {
    const stop = store.onChange(listener, hears)
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      stop()
    }
  }

  #watched<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, verb) => {
        const call = target[verb as keyof Port] as (...args: unknown[]) => unknown
        return (...args: unknown[]) => {
          const answer = call(...args)
          return answer instanceof Promise ? this.#counted(answer) : answer
        }
      },
    })
  }

  async #counted<T>(answer: Promise<T>): Promise<T> {
    this.#underWay += 1
    try {
      return await answer
    } finally {
      this.#underWay -= 1
      this.#onChange()
    }
  }
}
