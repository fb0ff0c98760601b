import type { Connection, Durability } from './connection.ts'

/**
 * Frames of 4 kB in the log. After a commit that was synced fewer: while the log's file still grows, every sync has
 * to write its new size as well, which costs a fifth. Otherwise more, so that busy pages are copied once.
 */
const FRAMES_MAX = { full: 1_000, normal: 4_000 }
/** Looking costs some 50 µs: a commit of a few frames is not worth it. */
const COMMITS_BETWEEN_LOOKS = { least: 8, most: 200 }
/** Three times what is usual: some reader keeps the log from beginning anew. Some 50 MB. */
const OVERSIZED_FRAMES = 3 * FRAMES_MAX.normal
/** Then we look also while nothing is committed. */
const LOOK_WHILE_OVERSIZED_MS = 1_000

/**
 * Copies the write-ahead log into the database when it has grown. SQLite would do it by itself, within a commit; but
 * while several processes write, its way never gets to the end of the log: the log grows, and every single commit
 * tries again, with two syncs of the disk. RESTART keeps the writers out for the last few pages, and the log begins
 * anew. Should somebody write just then, it is tried once more right after the next commit of our own, before others hear that the lock
 * is free: of several processes that write all the time one always has it. Should a reader be in the way, the next look is soon enough.
 */
export class Checkpoints {
  readonly #connection: Connection
  #commits = 0
  #lookAt = COMMITS_BETWEEN_LOOKS.least
  #frames = 0
  #lookIsDue = false
  #isClosed = false
  #cameTooLate = false
  #isOversized = false
  #timer: NodeJS.Timeout | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  committed(durability: Durability): void {
    this.#commits += 1
    if (this.#cameTooLate) return this.#look(FRAMES_MAX[durability])
    if (this.#commits < this.#lookAt || this.#lookIsDue) return
    this.#lookIsDue = true
    // Not at once: whoever waits for this commit is answered first.
    setImmediate(() => this.#look(FRAMES_MAX[durability]))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #look(max: number): void {
    if (this.#isClosed) return
    const isSecondTry = this.#cameTooLate
    this.#lookIsDue = false
    this.#cameTooLate = false
    try {
      const frames = this.#connection.checkpoint('NOOP').log
      this.#isOversized &&= frames > max
      const perCommit = Math.max(1, (frames - this.#frames) / this.#commits)
      const full = frames > max
      this.#cameTooLate = full && !this.#beginAnew(frames) && !isSecondTry
      this.#planNextLook(full ? 0 : frames, perCommit, max)
    } catch {
      // Nobody is waiting for it, and what was committed is safe in the log: the next one tries again.
    }
  }

  /** Half-way to where the log would be full, if it went on growing as it did. */
  #planNextLook(frames: number, perCommit: number, max: number): void {
    const commits = Math.ceil((max - frames) / perCommit / 2)
    const { least, most } = COMMITS_BETWEEN_LOOKS
    this.#lookAt = Math.min(Math.max(least, commits), most)
    this.#commits = 0
    this.#frames = frames
  }

  /** False: somebody was writing. All was copied, but he has added to it since, or will. */
  #beginAnew(frames: number): boolean {
    const isOversized = frames > OVERSIZED_FRAMES
    const { busy, log, checkpointed } = this.#connection.checkpoint(isOversized ? 'TRUNCATE' : 'RESTART')
    if (isOversized && busy !== 0) this.#lookWhileOversized()
    return busy === 0 || checkpointed < log
  }

  /** Said once, until the log has begun anew. */
  #lookWhileOversized(): void {
    if (!this.#isOversized) {
      this.#isOversized = true
      process.emitWarning(
        `the write-ahead log ${this.#connection.path}-wal keeps growing because a program has read the database for a long time: ` +
          'a query whose rows are not all fetched, an open transaction, or a backup. It is shortened when that ends; look for it in your own code first',
        'GleanerWarning',
      )
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(FRAMES_MAX.full), LOOK_WHILE_OVERSIZED_MS)
    this.#timer.unref()
  }
}
