import type { Clock } from '../clock.ts'
import type { Child } from './child.ts'

/** After SIGKILL a process ends at once, unless the kernel holds it: nobody waits for that for ever. */
const KILLED_WITHIN_MS = 10_000
/** After the drain: handlers that heed their signal end, and the worker leaves the database. */
export const LEAVE_MS = 2_000

/** Ends a process: drain → SIGTERM and SIGCONT → SIGKILL the group. Can be hurried. */
export class Stopping {
  readonly #child: Child
  readonly #clock: Clock
  readonly #termMs: number
  readonly done: Promise<void>
  #hurry: () => void = () => {}
  #drainUntilMs: number

  constructor(child: Child, clock: Clock, drainMs: number, termMs: number) {
    this.#child = child
    this.#clock = clock
    this.#termMs = termMs
    this.#drainUntilMs = clock.monotonicMs() + drainMs
    this.done = this.#run()
  }

  /** Whoever asks later may give it less time, never more. */
  within(drainMs: number): void {
    this.#drainUntilMs = Math.min(this.#drainUntilMs, this.#clock.monotonicMs() + drainMs)
    this.#hurry()
  }

  async #run(): Promise<void> {
    if (await this.#drained()) return
    // A process that is stopped gets no signal before it goes on.
    this.#child.signal('SIGTERM')
    this.#child.signal('SIGCONT')
    if (await this.#endsWithin(this.#termMs)) return
    this.#child.killGroup()
    await this.#endsWithin(KILLED_WITHIN_MS)
  }

  async #drained(): Promise<boolean> {
    for (;;) {
      const leftMs = this.#drainUntilMs - this.#clock.monotonicMs()
      if (leftMs <= 0) return !this.#child.alive
      this.#child.tell({ type: 'stop', drainMs: leftMs })
      const hurried = new Promise<void>((resolve) => {
        this.#hurry = resolve
      })
      if (await this.#endsWithin(leftMs + LEAVE_MS, hurried)) return true
    }
  }

  async #endsWithin(ms: number, hurried?: Promise<void>): Promise<boolean> {
    let cancel = () => {}
    const over = new Promise<void>((resolve) => {
      cancel = this.#clock.after(ms, resolve)
    })
    const ways: Promise<unknown>[] = [this.#child.exited, over]
    if (hurried !== undefined) ways.push(hurried)
    await Promise.race(ways)
    cancel()
    return !this.#child.alive
  }
}
