import type { BatchContext, BatchItem } from '../../define/batch.ts'
import { shown } from '../../define/names.ts'
import type { Context, Enqueue, Tx } from '../../define/types.ts'
import { InputError } from '../../errors.ts'
import type { LogLevel } from '../../model/task.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { RunContext } from '../attempt/context.ts'
import type { CallEntry } from './entry.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** What a batch handler sees of one call. */
export class BatchRunContext implements BatchContext {
  readonly items: readonly BatchItem[]
  /** The errors that the handler gave single items, by their place. */
  readonly failures = new Map<number, unknown>()
  readonly enqueue: Enqueue
  readonly #entries: readonly CallEntry[]
  readonly #controller = new AbortController()
  #log: BatchContext['log'] | undefined

  constructor(entries: readonly CallEntry[], enqueue: Enqueue) {
    this.#entries = entries
    this.enqueue = enqueue
    this.items = entries.map(({ attempt }) => new ItemContext(attempt))
    for (const { attempt } of entries) attempt.context.onAbort(this.#aborted)
  }

  get #first(): RunContext {
    return this.#entries[0]!.attempt.context
  }

  /** Of the first item, for hooks that expect one. */
  get id(): string {
    return this.#first.id
  }

  get name(): string {
    return this.#first.name
  }

  get use(): Record<string, any> {
    return this.#first.use
  }

  /** Aborts when no item is left that the call is for. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** A line in the log of each item. */
  get log(): BatchContext['log'] {
    const write = (level: LogLevel) => (message: string, details?: object) => {
      for (const { attempt } of this.#entries) attempt.context.log[level](message, details)
    }
    this.#log ??= Object.fromEntries(LEVELS.map((level) => [level, write(level)])) as BatchContext['log']
    return this.#log
  }

  async progress(fraction: number, message?: string): Promise<void> {
    await Promise.all(this.#entries.map(({ attempt }) => attempt.context.progress(fraction, message)))
  }

  fail(index: number, error: unknown): void {
    if (!Number.isInteger(index) || index < 0 || index >= this.#entries.length)
      throw new InputError(`ctx.fail: there is no item ${shown(index)}`, {
        code: 'BAD_OPTION',
        hint: `This call has the items 0 to ${this.#entries.length - 1}.`,
      })
    if (!this.failures.has(index)) this.failures.set(index, error)
  }

  readonly #aborted = (reason: Error): void => {
    if (this.#entries.every(({ isAborted }) => isAborted)) this.#controller.abort(reason)
  }
}

/** A handler must not end the run of one item at a step while the call goes on, so items have no steps. */
class ItemContext implements BatchItem {
  readonly #attempt: Attempt

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  get #context(): RunContext {
    return this.#attempt.context
  }

  /** For handlers in other processes. Its time began with the call. */
  get deadlineAt(): number {
    const { deadlineMs, services } = this.#attempt
    return Math.round(services.clock.now() + deadlineMs - services.clock.monotonicMs())
  }

  get id(): string {
    return this.#context.id
  }
  get attempt(): number {
    return this.#context.attempt
  }
  get fence(): number {
    return this.#context.fence
  }
  get suspect(): boolean {
    return this.#context.suspect
  }
  get signal(): AbortSignal {
    return this.#context.signal
  }
  get log(): Context['log'] {
    return this.#context.log
  }
  progress(fraction: number, message?: string): Promise<void> {
    return this.#context.progress(fraction, message)
  }
  complete<T>(result: T, effects: (tx: Tx) => void | Promise<void>): Promise<T> {
    return this.#context.complete(result, effects)
  }
}
