import { encodePayload } from '../../define/payload.ts'
import { checkAgainst } from '../../define/schema.ts'
import { type CheckedStep, type CheckedWait, checkSleep, checkStep, checkWait } from '../../define/step.ts'
import type { SaveCursor, StepContext, StepOptions, Tx, WaitForOptions } from '../../define/types.ts'
import { ClaimLostError, PermanentError, SignalTimeout, StepTimeout } from '../../errors.ts'
import { readExactly } from '../../exact-json.ts'
import { retryDelayMs } from '../../model/retry.ts'
import { type KeptStep, sleepLeftMs, unvisited } from '../../model/step.ts'
import type { Wait } from '../../model/wait.ts'
import type { AwaitedSignal, NewStep } from '../../store/ports/steps.ts'
import { messageOf } from '../../thrown.ts'
import { Children, type ChildrenSteps } from './children.ts'
import { isFinal } from './final.ts'
import type { StepServices } from './services.ts'
import type { StepAttempt } from './step-attempt.ts'

type Work = (given: any) => unknown

/** The run ends until this time by the monotonic clock, or until one of these comes. Infinity: there is no such time. */
interface Leaving {
  untilMs: number
  waits: readonly Wait[]
}

/** The steps of one attempt: what earlier attempts kept, and what this one keeps. */
export class Steps {
  readonly #attempt: StepAttempt
  readonly #services: StepServices
  /** By name and number. Read once, when the handler asks for its first step. */
  #kept: Promise<ReadonlyMap<string, KeptStep>> | undefined
  /** When what was kept was read: by the store's clock, and by ours. */
  #readAt = { now: 0, monotonicMs: 0 }
  /** How often each name was used. */
  readonly #numbers = new Map<string, number>()
  #running = 0
  /** What the attempt ends for, once no step of it runs any more. */
  #leaving: Leaving | null = null
  #children: Children | undefined

  constructor(attempt: StepAttempt, services: StepServices) {
    this.#attempt = attempt
    this.#services = services
  }

  /** Calls `work` unless an earlier attempt kept its result. */
  async run(name: string, work: Work, options: StepOptions | undefined): Promise<unknown> {
    const step = checkStep(name, work, options)
    const number = this.#numberOf(name)
    const kept = await this.#find(name, number)
    if (kept?.kind === 'result') return this.#read(step, kept.value, `kept result of step ${name}`)
    const runAndKeep = () => this.#runAndKeep(step, number, kept)
    const span = this.#attempt.trace?.step(name, number)
    return this.#counted(span === undefined ? runAndKeep : () => span.within(runAndKeep))
  }

  /** Ends the attempt without an end of the handler: it runs again after this time, and the sleep is over then. */
  async sleep(name: string, forMs: () => number): Promise<void> {
    checkSleep(name)
    const number = this.#numberOf(name)
    const left = await this.#counted(async () => {
      const kept = await this.#find(name, number)
      const left = kept === undefined ? await this.#fallAsleep(name, number, forMs()) : this.#leftMs(kept)
      if (left > 0) this.#leaveFor(left, null)
      return left
    })
    if (left > 0) await this.#neverResumed()
  }

  /** Ends the attempt without an end of the handler: it runs again when the signal comes, or the wait times out. */
  async waitFor(signal: string, options: WaitForOptions | undefined): Promise<unknown> {
    const wait = checkWait(signal, options)
    const number = this.#numberOf(signal)
    const answer = await this.#counted(async () => {
      const kept = await this.#find(signal, number)
      if (kept?.kind === 'signal' || kept?.kind === 'timeout') return { kind: kept.kind, value: kept.value }
      const answer = await this.#awaitSignal(wait, number)
      if (answer.kind === 'waits')
        this.#leaveFor(answer.leftMs, { kind: 'signal', name: signal, number, until: answer.until })
      return answer
    })
    if (answer.kind === 'waits') return this.#neverResumed()
    if (answer.kind === 'timeout') throw new SignalTimeout(signal)
    return this.#read(wait, answer.value, `payload of the signal ${signal}`)
  }

  async #awaitSignal({ name, timeoutMs }: CheckedWait, number: number): Promise<AwaitedSignal> {
    const { id, fence, claim, services } = this.#attempt
    const run = { name, number, attempt: claim.attempt, startedAt: services.clock.now(), timeoutMs }
    const answer = await this.#services.store.awaitSignal(this.#session(), { claim: { id, fence }, ...run })
    if (answer === null) throw this.#lost()
    return answer
  }

  /** Called while it is counted as running: whatever runs beside it ends first, and the run waits for all of it. */
  #leaveFor(leftMs: number | null, wait: Wait | null): void {
    const untilMs = leftMs === null ? Number.POSITIVE_INFINITY : this.#nowMs() + leftMs
    const before = this.#leaving ?? { untilMs: Number.POSITIVE_INFINITY, waits: [] }
    this.#leaving = {
      untilMs: Math.min(before.untilMs, untilMs),
      waits: wait === null ? before.waits : [...before.waits, wait],
    }
  }

  /** Never settled, unless the run is aborted: the handler is not resumed, so neither `catch` nor `finally` of it runs. */
  #neverResumed(): Promise<never> {
    return new Promise<never>((_, reject) => this.#attempt.context.onAbort(reject))
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#leaveIfIdle()
    }
  }

  get children(): Children {
    this.#children ??= new Children(this.#forChildren(), this.#services.flows, this.#services.childTasks)
    return this.#children
  }

  #forChildren(): ChildrenSteps {
    return {
      begin: async (name) => {
        const number = this.#numberOf(name)
        return { number, kept: await this.#find(name, number) }
      },
      record: (name, number) => {
        const { id, fence, claim, services } = this.#attempt
        return { claim: { id, fence }, name, number, attempt: claim.attempt, startedAt: services.clock.now() }
      },
      session: () => this.#session(),
      during: (work) => this.#during(work),
      waitFor: (wait) => this.#waitFor(wait),
      lost: () => this.#lost(),
    }
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1
    try {
      return await work()
    } finally {
      this.#running -= 1
      // The handler goes on first: it may begin another step.
      if (this.#leaving !== null) setImmediate(() => this.#leaveIfIdle())
    }
  }

  #waitFor(wait: Wait): Promise<never> {
    this.#proceed()
    this.#leaveFor(null, wait)
    this.#leaveIfIdle()
    return this.#neverResumed()
  }

  /** The handler has returned. The names of steps that an earlier attempt kept and this one did not come to. */
  async unvisited(): Promise<string[]> {
    const kept = await this.#kept
    return kept === undefined ? [] : unvisited([...kept.values()], new Set(this.#numbers.keys()))
  }

  async #runAndKeep(step: CheckedStep, number: number, kept: KeptStep | undefined): Promise<unknown> {
    const { clock, random } = this.#attempt.services
    const { cursors } = this.#services
    // A call that follows a failed one goes on behind what that one saved.
    let saved = kept?.kind === 'cursor' ? kept.value : null
    for (let attempt = 1; ; attempt++) {
      try {
        const startedAt = clock.now()
        const record = (kind: NewStep['kind'], value: string | null) =>
          this.#record(step.name, number, { kind, value, startedAt })
        if (step.atomic) return await this.#runAtomic(step, record('result', null))
        const cursor = this.#read({}, saved, `cursor of step ${step.name}`)
        const save: SaveCursor = async (reached) => {
          saved = this.#encode(step.name, reached)
          await cursors.save(this.#attempt, record('cursor', saved))
        }
        const result = await this.#call(step, { attempt, cursor, save })
        const value = this.#encode(step.name, result)
        const answer = await this.#read(step, value, `result of step ${step.name}`)
        await cursors.forget(this.#attempt, step.name, number)
        await this.#keep(record('result', value))
        return answer
      } catch (error) {
        if (
          attempt >= step.retry.attempts ||
          isFinal(error) ||
          this.#attempt.context.abortReason !== undefined
        ) {
          await cursors.flush()
          throw error
        }
        await this.#services.pause(retryDelayMs(step.retry, attempt, random()))
        this.#proceed()
      }
    }
  }

  /** Effects and step are one commit. */
  async #runAtomic(step: CheckedStep, record: NewStep): Promise<unknown> {
    const { context } = this.#attempt
    let result: unknown
    let value: string | null = null
    const effects = (tx: Tx) =>
      context.joined(tx, (own) => {
        result = step.work(own)
        if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') return undefined
        return (result as PromiseLike<unknown>).then((settled) => {
          result = settled
        })
      })
    const kept = await this.#services.store.keepStepWith(this.#session(), record, {
      effects,
      value: () => {
        value = this.#encode(step.name, plainResult(result))
        return value
      },
    })
    if (!kept) throw this.#lost()
    return this.#read(step, value, `result of step ${step.name}`)
  }

  #call(
    step: CheckedStep,
    { attempt, cursor, save }: Pick<StepContext, 'attempt' | 'cursor' | 'save'>,
  ): unknown {
    const { context, services } = this.#attempt
    const { timeoutMs } = step
    if (timeoutMs === null) {
      const given = {
        attempt,
        cursor,
        save,
        get signal() {
          return context.signal
        },
      }
      return step.work(given)
    }
    const own = new AbortController()
    const signal = AbortSignal.any([context.signal, own.signal])
    return new Promise((resolve, reject) => {
      const cancel = services.clock.after(timeoutMs, () => {
        const late = new StepTimeout(step.name, timeoutMs)
        own.abort(late)
        reject(late)
      })
      Promise.resolve()
        .then(() => step.work({ attempt, cursor, save, signal }))
        .then(resolve, reject)
        .finally(cancel)
    })
  }

  async #keep(step: NewStep): Promise<void> {
    const lost = await this.#services.store.keepSteps(this.#session(), [step], 'promised')
    if (lost.length > 0) throw this.#lost()
  }

  async #fallAsleep(name: string, number: number, forMs: number): Promise<number> {
    const startedAt = this.#attempt.services.clock.now()
    await this.#keep({ ...this.#record(name, number, { kind: 'sleep', value: null, startedAt }), forMs })
    return forMs
  }

  #record(name: string, number: number, kept: Pick<NewStep, 'kind' | 'value' | 'startedAt'>): NewStep {
    const { id, fence, claim } = this.#attempt
    return { claim: { id, fence }, name, number, attempt: claim.attempt, ...kept }
  }

  #numberOf(name: string): number {
    this.#proceed()
    const number = (this.#numbers.get(name) ?? 0) + 1
    this.#numbers.set(name, number)
    return number
  }

  async #find(name: string, number: number): Promise<KeptStep | undefined> {
    this.#kept ??= this.#open()
    const found = (await this.#kept).get(`${number} ${name}`)
    this.#proceed()
    return found
  }

  async #open(): Promise<ReadonlyMap<string, KeptStep>> {
    const { id, fence } = this.#attempt
    const opened = await this.#services.store.openSteps(this.#session(), { id, fence })
    if (opened === null) throw this.#lost()
    this.#readAt = { now: opened.now, monotonicMs: this.#nowMs() }
    return new Map(opened.steps.map((step) => [`${step.number} ${step.name}`, step]))
  }

  #leftMs(kept: KeptStep): number {
    const { now, monotonicMs } = this.#readAt
    return sleepLeftMs(kept, now + this.#nowMs() - monotonicMs)
  }

  /** Steps that still run may end first: what they have done would otherwise be done again. */
  #leaveIfIdle(): void {
    if (this.#leaving === null || this.#running > 0) return
    const { untilMs, waits } = this.#leaving
    const afterMs = Number.isFinite(untilMs) ? Math.max(0, Math.ceil(untilMs - this.#nowMs())) : null
    this.#attempt.leave(
      waits.length === 0 ? { kind: 'later', afterMs: afterMs ?? 0 } : { kind: 'waits', waits, afterMs },
    )
  }

  #encode(name: string, value: unknown): string | null {
    return encodePayload(value, `result of step ${name}`, this.#services.bytesMax, 'STEP_TOO_LARGE')
  }

  /** What the handler is given is always what a later attempt would be given. */
  #read({ schema }: { schema?: CheckedStep['schema'] }, value: string | null, what: string): unknown {
    const result = value === null ? undefined : readExactly(value)
    if (schema === undefined || schema === null) return result
    const refuse = (error: unknown) => {
      throw new PermanentError(`the ${what} does not fit its schema: ${messageOf(error)}`, { cause: error })
    }
    try {
      const checked = checkAgainst(schema, result, what)
      return checked instanceof Promise ? checked.catch(refuse) : checked
    } catch (error) {
      return refuse(error)
    }
  }

  #session(): string {
    const session = this.#services.session()
    if (session === null) throw this.#lost()
    return session
  }

  #lost(): Error {
    const { context, name } = this.#attempt
    return context.abort(new ClaimLostError(`${name}: another worker holds the claim; the step was not kept`))
  }

  /** Nothing of an attempt that is over is begun. */
  #proceed(): void {
    const { abortReason } = this.#attempt.context
    if (abortReason !== undefined) throw abortReason
  }

  #nowMs(): number {
    return this.#attempt.services.clock.monotonicMs()
  }
}

/** A function often returns what `tx.query` answered, which holds parsers of the driver beside the rows. */
function plainResult(result: unknown): unknown {
  const { rows, rowCount, command } = (result ?? {}) as Record<string, unknown>
  return Array.isArray(rows) && typeof command === 'string' ? { command, rowCount, rows } : result
}
