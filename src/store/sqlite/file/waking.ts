import type { Change, Hears } from '../../ports/change.ts'
import { whenOver } from './after-transaction.ts'
import type { Connection } from './connection.ts'
import { type Signal, WakeFile } from './wake-file.ts'
import { WakeWatch } from './wake-watch.ts'
import { FileWatch } from './watch.ts'

const SIGNAL_OF: Record<Change['kind'], Signal | null> = {
  work: 'work',
  cancel: 'cancel',
  schedules: 'schedules',
  // Those who wait for the end of a task watch all commits, and they are few.
  ended: null,
  elsewhere: null,
}

/** Who is told what a commit brought: listeners of this process, and by signals those of others. */
export class Waking {
  readonly #connection: Connection
  /** Null: in memory, and so nobody else's. */
  readonly #file: WakeFile | null
  readonly #listeners: Record<Hears, Set<(change: Change) => void>> = {
    signals: new Set(),
    commits: new Set(),
  }
  #wakeWatch: WakeWatch | null = null
  #fileWatch: FileWatch | null = null
  #isClosed = false
  /** Live sessions, when they were last counted. Null: never. */
  counted: number | null = null

  constructor(connection: Connection, inMemory: boolean) {
    this.#connection = connection
    this.#file = inMemory ? null : new WakeFile(connection.path)
  }

  /** After the commit: a failed wake-up must not undo anything. */
  tell(change: Change): void {
    const signal = SIGNAL_OF[change.kind]
    if (signal !== null) this.#ring(signal)
    // Afterwards: our own number may stand where another process has just put one.
    this.#tellHere(change)
  }

  /** Something was enqueued in a transaction of the user's: others can see it when that is over. */
  enqueuedIn(transaction: { inTransaction: boolean }): void {
    whenOver(transaction, this.#tellOfWork)
  }

  /** The same for all of one transaction, which is told once. */
  readonly #tellOfWork = () => this.tell({ kind: 'work' })

  /** Only while somebody listens: a process that merely enqueues need not read the events of its own writes. */
  listen(listener: (change: Change) => void, hears: Hears): () => void {
    this.#listeners[hears].add(listener)
    this.#watch()
    return () => {
      this.#listeners[hears].delete(listener)
      this.#watch()
    }
  }

  /** In the moment of a claim, which saw everything that was signalled before. */
  asked(session: string, want: { start: number } | null, claims: number): void {
    const look = { isOpen: want !== null && claims < want.start, found: claims > 0 }
    this.#wakeWatch?.asked(session, look)
    this.#fileWatch?.asked(look)
  }

  left(session: string): void {
    this.#wakeWatch?.left(session)
  }

  close(): void {
    this.#isClosed = true
    for (const listeners of Object.values(this.#listeners)) listeners.clear()
    this.#watch()
    this.#file?.close()
  }

  /** Nobody has the database open any more. */
  removeFile(): void {
    this.#file?.remove()
  }

  #ring(signal: Signal): void {
    if (this.#file === null || this.#isClosed) return
    const number = this.#file.ring(signal)
    this.#wakeWatch?.rang(signal, number)
  }

  #tellHere(change: Change): void {
    for (const listeners of Object.values(this.#listeners))
      for (const listener of [...listeners]) listener(change)
  }

  #watch(): void {
    if (this.#file === null) return
    const { signals, commits } = this.#listeners
    if (signals.size + commits.size === 0) {
      this.#wakeWatch?.close()
      this.#wakeWatch = null
    } else {
      this.#wakeWatch ??= new WakeWatch(this.#file, {
        workers: () => this.counted ?? 1,
        random: Math.random,
        onSignal: (only) => this.#tellHere({ kind: 'elsewhere', only }),
      })
    }
    if (commits.size === 0) {
      this.#fileWatch?.close()
      this.#fileWatch = null
    } else {
      this.#fileWatch ??= new FileWatch(this.#connection, () => {
        for (const listener of [...commits]) listener({ kind: 'elsewhere' })
      })
    }
  }
}
