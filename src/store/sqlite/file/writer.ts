import { type Connection, type Durability, tooBusy } from './connection.ts'
import { LockNotifier } from './lock-notifier.ts'
import { isBusy, translated } from './sql-errors.ts'

/** Jobs that share one commit at most. More would hold the lock, and everybody's answer, for too long. */
const GROUP_MAX = 1_000

/** Whoever awaits one write after the other keeps timers and sockets of the process waiting for that long, at most. */
const GO_ON_MS = 10

interface Job {
  run: () => unknown
  durability: Durability
  /** Runs code of the user's: its failure undoes that job alone. */
  isolated: boolean
  since: number
  resolve: (value: any) => void
  reject: (error: unknown) => void
}

/**
 * All writes of a store, one transaction at a time. What is asked for in the same turn of the event loop shares
 * one commit, and so one sync of the disk. Nobody is answered before the commit.
 */
export class Writer {
  readonly #connection: Connection
  readonly #busyLimitMs: number
  readonly #onRollback: () => void
  readonly #onCommit: (durability: Durability) => void
  readonly #lock: LockNotifier
  #jobs: Job[] = []
  #flushing = false
  /** Those who were answered go on: the event loop has not turned since. */
  #answering = false
  #answeringSinceMs = 0
  #idle: (() => void)[] = []

  constructor(
    connection: Connection,
    options: {
      busyLimitMs: number
      /** How many write to this file. */
      workers: () => number
      onRollback: () => void
      onCommit: (durability: Durability) => void
    },
  ) {
    this.#connection = connection
    this.#lock = new LockNotifier(connection.path, options.workers)
    this.#busyLimitMs = options.busyLimitMs
    this.#onRollback = options.onRollback
    this.#onCommit = options.onCommit
  }

  write<T>(durability: Durability, run: () => T, isolated = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({ run, durability, isolated, since: performance.now(), resolve, reject })
      if (this.#flushing) return
      this.#flushing = true
      if (this.#isWorthATurn(durability)) setImmediate(this.#flush)
      else queueMicrotask(this.#flush)
    })
  }

  /** Whether to wait for all that this turn of the event loop brings. */
  #isWorthATurn(durability: Durability): boolean {
    // A sync takes long enough for it.
    if (!this.#answering) return durability === 'full'
    // He was answered just now. Those who were answered with him ask again in the same breath, and nobody else can before
    // the event loop turns, which would cost a tenth of the sync; but it must turn now and then.
    return performance.now() - this.#answeringSinceMs >= GO_ON_MS
  }

  #beginAnswering(): void {
    if (this.#answering) return
    this.#answering = true
    this.#answeringSinceMs = performance.now()
    // From a microtask, or the tick would come before those who are answered.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#answering = false
      }),
    )
  }

  /** When everything that was asked for is answered. */
  settled(): Promise<void> {
    return this.#flushing ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  close(): void {
    this.#lock.close()
  }

  readonly #flush = (): void => {
    const group = this.#jobs.splice(0, GROUP_MAX)
    const outcome = this.#commitTogether(group)
    if (outcome === 'busy') this.#jobs.unshift(...this.#stillPatient(group))
    if (this.#jobs.length === 0) return this.#rest()
    if (outcome === 'busy') this.#lock.wait(this.#flush)
    else setImmediate(this.#flush)
  }

  #rest(): void {
    this.#flushing = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #commitTogether(group: readonly Job[]): 'done' | 'busy' {
    const answers: (() => void)[] = []
    const durability = group.some((job) => job.durability === 'full') ? 'full' : 'normal'
    const undo = group.some((job) => job.isolated) ? 'file' : 'memory'
    try {
      if (!this.#connection.tryBegin(durability, undo)) return 'busy'
      this.#lock.acquired()
      for (const job of group) answers.push(job.isolated ? this.#runIsolated(job) : this.#run(job))
      this.#connection.commit()
      if (durability === 'full') this.#connection.mustBeInPlace()
    } catch (error) {
      this.#connection.rollback()
      this.#onRollback()
      if (isBusy(error)) return 'busy'
      for (const job of group) job.reject(translated(error))
      return 'done'
    }
    this.#onCommit(durability)
    this.#lock.released()
    this.#beginAnswering()
    for (const answer of answers) answer()
    return 'done'
  }

  #run(job: Job): () => void {
    const value = job.run()
    return () => job.resolve(value)
  }

  #runIsolated(job: Job): () => void {
    const { statements } = this.#connection
    statements.sql('SAVEPOINT gleaner_job').run()
    try {
      const answer = this.#run(job)
      statements.sql('RELEASE gleaner_job').run()
      return answer
    } catch (error) {
      if (isBusy(error) || !this.#connection.raw.inTransaction) throw error
      statements.sql('ROLLBACK TO gleaner_job').run()
      statements.sql('RELEASE gleaner_job').run()
      return () => job.reject(translated(error))
    }
  }

  #stillPatient(group: readonly Job[]): Job[] {
    const now = performance.now()
    return group.filter((job) => {
      const patient = now - job.since < this.#busyLimitMs
      if (!patient) job.reject(tooBusy(now - job.since))
      return patient
    })
  }
}
