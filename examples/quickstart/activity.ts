// What happens right now, as Gleaner's events tell it.
import type { Failure, Gleaner, TaskEvent } from '../../src/index.ts' // in your own project: from 'gleaner'
import { duration } from './text.ts'

interface Running {
  id: string
  name: string
  sinceMs: number
  /** Null: this one tells no progress. */
  fraction: number | null
  message: string
}

const SLICE_MS = 250
const SLICES = 40

export class Activity {
  readonly running = new Map<string, Running>()
  /** The newest first. */
  readonly failures: { task: string; next: string; message: string; final: boolean }[] = []
  /** Tasks that ended, per quarter of a second. */
  readonly #ended: number[] = []
  readonly #startedMs = performance.now()

  constructor(gleaner: Gleaner) {
    gleaner.on('started', ({ id, name }) => {
      this.running.set(id, { id, name, sinceMs: performance.now(), fraction: null, message: '' })
    })
    gleaner.on('progress', ({ id, fraction, message }) => {
      Object.assign(this.running.get(id) ?? {}, { fraction, message: message ?? '' })
    })
    gleaner.on('completed', (event) => this.#end(event))
    gleaner.on('cancelled', (event) => this.#end(event))
    gleaner.on('failed', (event) => {
      this.#end(event)
      this.#fail(event, event.error, `failed (${event.error.kind})`, true)
    })
    gleaner.on('retrying', (event) => {
      this.running.delete(event.id)
      this.#fail(event, event.error, `again in ${duration(event.afterMs)}`, false)
    })
    gleaner.on('returned', ({ id }) => this.running.delete(id))
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs
  }

  /** Per second, in the second before the slice that has just begun. */
  get rate(): number {
    return this.#slices()
      .slice(-5, -1)
      .reduce((sum, n) => sum + n, 0)
  }

  /** Tasks that ended in each of the last slices of time, oldest first. */
  get history(): number[] {
    return this.#slices().slice(-SLICES)
  }

  #slices(): number[] {
    const now = Math.floor(this.elapsedMs / SLICE_MS)
    return Array.from({ length: now + 1 }, (_, slice) => this.#ended[slice] ?? 0)
  }

  #end({ id }: TaskEvent): void {
    this.running.delete(id)
    const slice = Math.floor(this.elapsedMs / SLICE_MS)
    this.#ended[slice] = (this.#ended[slice] ?? 0) + 1
  }

  #fail({ id, name }: TaskEvent, { message }: Failure, next: string, final: boolean): void {
    this.failures.unshift({ task: `${name} ${id}`, next, message, final })
    this.failures.length = Math.min(this.failures.length, 10)
  }
}
