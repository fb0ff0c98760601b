import { shown } from '../../define/names.ts'
import { dateMs } from '../../define/step.ts'
import type {
  AllOptions,
  ChildOutcome,
  Context,
  Enqueue,
  RunOptions,
  StepOptions,
  Task,
  Tx,
  WaitForOptions,
} from '../../define/types.ts'
import { type Duration, durationMs } from '../../duration.ts'
import { ClaimLostError, InputError } from '../../errors.ts'
import { writable } from '../../exact-json.ts'
import type { LogLevel } from '../../model/task.ts'
import { describeValue, messageOf } from '../../thrown.ts'
import { Steps } from '../steps/steps.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptServices } from './services.ts'

const NOTHING = Object.freeze({})
const LINE_MAX = 4_000
const DETAILS_MAX = 16_000

/** What a handler sees of its run. Costs nothing until it is used: most handlers use little of it. */
export class RunContext implements Context {
  readonly #attempt: Attempt
  readonly #services: AttemptServices
  #controller: AbortController | undefined
  #log: Context['log'] | undefined
  /** The transaction whose effects are being written. */
  #completing: Tx | undefined
  abortReason: Error | undefined
  readonly #onAbort: ((reason: Error) => void)[] = []
  readonly #onLeave: (() => void)[] = []
  #steps: Steps | undefined
  use: Record<string, any> = NOTHING

  constructor(attempt: Attempt, services: AttemptServices) {
    this.#attempt = attempt
    this.#services = services
  }

  get id(): string {
    return this.#attempt.claim.id
  }

  get name(): string {
    return this.#attempt.name
  }

  get attempt(): number {
    return this.#attempt.claim.attempt
  }

  get fence(): number {
    return this.#attempt.claim.fence
  }

  get suspect(): boolean {
    return this.#attempt.claim.suspect
  }

  /** When its time is over; for handlers in other processes. */
  get deadlineAt(): number {
    return this.#attempt.startedAt + this.#attempt.timeoutMs
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.abortReason !== undefined) this.#controller.abort(this.abortReason)
    }
    return this.#controller.signal
  }

  get log(): Context['log'] {
    this.#log ??= {
      debug: (message, details) => this.#write('debug', message, details),
      info: (message, details) => this.#write('info', message, details),
      warn: (message, details) => this.#write('warn', message, details),
      error: (message, details) => this.#write('error', message, details),
    }
    return this.#log
  }

  /**
   * Inside the callback of `complete` it takes part in that transaction: a task that follows exists if, and only if, this
   * one is completed; and nobody who holds a connection waits for another.
   */
  get enqueue(): Enqueue {
    const enqueue = (...args: Parameters<Enqueue>) => {
      const tx = this.#completing
      return tx === undefined ? this.#services.enqueue(...args) : this.#services.enqueueWithin(tx)(...args)
    }
    return enqueue as Enqueue
  }

  /** Written soon, together with other news; never a reason to wait. */
  progress(fraction: number, message?: string): Promise<void> {
    if (typeof fraction !== 'number' || !(fraction >= 0 && fraction <= 1)) return this.#noFraction(fraction)
    this.#services.progress(this.#attempt, fraction, message === undefined ? null : line(message))
    return Promise.resolve()
  }

  /** Most handlers do not wait for progress: a rejection that nobody hears must not end the process, so the log has it, too. */
  #noFraction(fraction: unknown): Promise<void> {
    const error = new InputError(`progress: ${shown(fraction)} is not a fraction`, {
      code: 'BAD_OPTION',
      hint: 'Use a number from 0 to 1.',
    })
    this.log.warn(error.message)
    const refused = Promise.reject<void>(error)
    refused.catch(() => {})
    return refused
  }

  /** A handler that uses no steps pays nothing for them. */
  get #allSteps(): Steps {
    if (this.#steps === undefined) {
      const { steps } = this.#services
      if (steps === null)
        throw new InputError('a claim that was pulled by hand has no steps', { code: 'NOT_SUPPORTED' })
      this.#steps = new Steps(this.#attempt, steps)
    }
    return this.#steps
  }

  get hasSteps(): boolean {
    return this.#steps !== undefined
  }

  step(name: string, run: (given: any) => unknown, options?: StepOptions): Promise<any> {
    return this.#allSteps.run(name, run, options)
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#allSteps.sleep(name, () => durationMs(duration, 'sleep'))
  }

  sleepUntil(...given: [name: string, date: Date] | [date: Date]): Promise<void> {
    const [name, date] = given.length === 1 ? ['sleepUntil', given[0]] : given
    return this.#allSteps.sleep(name, () => dateMs(date, 'sleepUntil') - this.#services.clock.now())
  }

  waitFor(signal: string, options?: WaitForOptions): Promise<any> {
    return this.#allSteps.waitFor(signal, options)
  }

  run(task: Task, input?: unknown, options?: RunOptions): Promise<any> {
    return this.#allSteps.children.run(task, input, options)
  }

  all(name: string, task: Task, inputs: readonly unknown[], options?: AllOptions): Promise<any[]> {
    return this.#allSteps.children.all(name, task, inputs, options)
  }

  outcomes(): AsyncIterable<ChildOutcome<any>> {
    return this.#allSteps.children.awaited(this.id)
  }

  /** The code has changed since an earlier attempt kept them. Their results are not used; nothing else is wrong. */
  async warnOfUnvisitedSteps(): Promise<void> {
    const steps = await this.#allSteps.unvisited()
    if (steps.length === 0) return
    this.log.warn('an earlier attempt kept steps that this one did not come to', { steps })
    this.#services.steps?.unvisited(this.#attempt, steps)
  }

  async complete<T>(result: T, effects: (tx: Tx) => void | Promise<void>): Promise<T> {
    const { name } = this.#attempt
    if (this.abortReason !== undefined) throw this.abortReason
    if (this.#attempt.settled) throw new ClaimLostError(`${name}: this run has been settled already`)
    const outcome = this.#attempt.completed(result)
    const refusal = await this.#services.completeWith(this.#attempt, outcome, (tx) =>
      this.joined(tx, effects),
    )
    if (refusal === null) return result
    throw this.abort(refusal)
  }

  /** Synchronous if the effects are. */
  joined(tx: Tx, effects: (tx: Tx) => void | PromiseLike<void>): void | Promise<void> {
    const over = () => {
      this.#completing = undefined
    }
    this.#completing = tx
    try {
      const writing = effects(tx)
      if (typeof writing?.then === 'function') return Promise.resolve(writing).finally(over)
    } catch (error) {
      over()
      throw error
    }
    over()
  }

  /** Called when the attempt is aborted, at once if it is already. */
  onAbort(told: (reason: Error) => void): void {
    if (this.abortReason === undefined) this.#onAbort.push(told)
    else told(this.abortReason)
  }

  /** Called when the run ends although its handler has not returned: it waits, and is not resumed. */
  onLeave(told: () => void): void {
    this.#onLeave.push(told)
  }

  left(): void {
    for (const told of this.#onLeave.splice(0)) told()
  }

  /** The first reason stays. */
  abort(reason: Error): Error {
    if (this.abortReason === undefined) {
      this.abortReason = reason
      for (const told of this.#onAbort.splice(0)) told(reason)
    }
    this.#controller?.abort(this.abortReason)
    return this.abortReason
  }

  #write(level: LogLevel, message: string, details?: object): void {
    this.#services.note(this.#attempt, {
      at: this.#services.clock.now(),
      attempt: this.attempt,
      level,
      message: line(message),
      details: detailsJson(details),
    })
  }
}

function line(message: unknown): string {
  return (typeof message === 'string' ? message : describeValue(message)).slice(0, LINE_MAX)
}

/** A log line never fails: what cannot be stored is described. */
function detailsJson(details: object | undefined): string | null {
  if (details === undefined) return null
  try {
    const text: string | undefined = bounded(details)
    if (text === undefined)
      return JSON.stringify({ dropped: `details that are not an object: ${describeValue(details)}` })
    return text.length <= DETAILS_MAX
      ? text
      : JSON.stringify({ dropped: `${text.length} characters of details` })
  } catch (error) {
    return JSON.stringify({ dropped: `details that are not JSON: ${messageOf(error)}` })
  }
}

/** Each value takes a character or more: of a graph with more paths than can be walked, no more is read than is kept. */
function bounded(details: object): string {
  let left = DETAILS_MAX
  return JSON.stringify(details, (_key, value) => {
    if (--left < 0) throw new Error(`more than ${DETAILS_MAX} values`)
    return writable(value)
  })
}
