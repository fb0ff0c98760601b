import type { BatchDefinition } from '../../define/batch.ts'
import type { Uses } from '../../define/resource.ts'
import type { ResourceError } from '../../errors.ts'
import { RETRY_DEFAULT, type RetryPolicy, retryDelayMs } from '../../model/retry.ts'
import type { Run } from '../../store/ports/exchange.ts'
import { AttemptTrace } from './attempt-trace.ts'
import { RunContext } from './context.ts'
import type { TaskEvent } from './events.ts'
import type { RunHooks } from './hooks.ts'
import { outcomeOfError } from './outcome-of-error.ts'
import type { AttemptServices } from './services.ts'
import type { AttemptOutcome, Item, Source } from './source.ts'

/** What a definition whose `run` takes many items says. */
export interface Batched {
  readonly name: string
  readonly batch: BatchDefinition | null
  readonly run: ((inputs: any, ctx: any) => unknown) | undefined
}

/** What an attempt needs of the task or the discovery that it belongs to. */
export interface AttemptDefinition extends Batched {
  /** The resources that its handler needs. Null for most. */
  uses: Uses | null
  timeoutMs: number
  retry: RetryPolicy
}

/** An attempt whose outcome is known. The store takes it as it is. */
export type SettledAttempt = Attempt & { outcome: AttemptOutcome }

/** One run of one item, from its claim to its outcome: the value that travels through the worker. */
export abstract class Attempt implements Run {
  readonly id: string
  readonly fence: number
  readonly claim: Item
  readonly source: Source
  /** Of the task or the discovery. */
  readonly name: string
  readonly uses: Uses | null
  readonly timeoutMs: number
  startedAt: number
  /** When its handler began: the resources that it needs were loaded by then. */
  startedMs: number
  readonly context: RunContext
  /** The store knows that it was started: it was claimed to be started, or an exchange has said so since. */
  startIsKnown: boolean
  /** Its outcome is in the outbox (or nobody accepts it any more), though the handler may still be running. */
  settled = false
  outcome: AttemptOutcome | undefined = undefined
  /** `ctx.complete` is under way. */
  isCompleting = false
  /** Its index among the running attempts of its worker. */
  place = 0
  /** When its outcome was known. 0 before. */
  endedMs = 0
  /** Its handler says that the worker is broken, or a resource that it needs did not load. */
  trouble: ResourceError | undefined = undefined
  /** The error of the store that its handler met. */
  outage: unknown = undefined
  /** Only present when the engine traces. */
  trace: AttemptTrace | undefined = undefined
  /** What its handler or its caller was given. */
  given: unknown = undefined
  readonly services: AttemptServices
  /** When its time-out, or the grace after an abort, is over. */
  deadlineMs: number
  readonly definition: AttemptDefinition
  #onEnd: ((attempt: Attempt, outcome: AttemptOutcome) => void) | undefined
  #hooks: RunHooks | undefined
  #hasLeft = false

  constructor(claim: Item, definition: AttemptDefinition, source: Source, services: AttemptServices) {
    this.id = claim.id
    this.fence = claim.fence
    this.claim = claim
    this.source = source
    this.name = definition.name
    this.uses = definition.uses
    this.timeoutMs = claim.overrides?.timeoutMs ?? definition.timeoutMs
    this.startIsKnown = claim.started
    this.startedAt = services.clock.now()
    this.startedMs = services.clock.monotonicMs()
    this.deadlineMs = this.startedMs + this.timeoutMs
    this.services = services
    this.definition = definition
    this.context = new RunContext(this, services)
  }

  /** The queue in which it waited. Null for a row. */
  abstract readonly queue: string | null
  /** Its name in health frames: `<name>/<id>`. */
  abstract get item(): string
  /** What the handler is given, checked. */
  abstract input(): unknown
  protected abstract handle(input: unknown): unknown
  /** The outcome for a result. It throws when the result cannot be stored. */
  abstract completed(result: unknown): AttemptOutcome

  /** Parse, run, encode. Everything that can happen becomes an outcome, which is passed to `onEnd`. */
  async run(hooks: RunHooks, onEnd: (attempt: Attempt, outcome: AttemptOutcome) => void): Promise<void> {
    if (hooks.tracing !== undefined) this.trace = new AttemptTrace(hooks.tracing, this)
    this.#onEnd = onEnd
    this.#hooks = hooks
    let outcome: AttemptOutcome
    try {
      const input = this.input()
      const given = input instanceof Promise ? await input : input
      if (this.uses !== null) await this.services.acquire(this, this.uses)
      const result = await this.#call(given, hooks)
      outcome = this.completed(result)
      if (this.context.hasSteps) await this.completedSteps(outcome)
    } catch (error) {
      outcome = outcomeOfError(this, error)
    }
    if (this.#hasLeft) return
    this.trace?.returned()
    onEnd(this, outcome)
  }

  /** Ends the attempt although its handler has not returned: it waits at a step, and is never resumed. */
  leave(outcome: AttemptOutcome): void {
    if (this.#hasLeft || this.settled) return
    this.#hasLeft = true
    this.trace?.returned()
    this.#hooks?.left?.(this.context)
    this.context.left()
    this.#onEnd?.(this, outcome)
  }

  /** The handler returned, and it had steps. */
  protected completedSteps(_outcome: AttemptOutcome): Promise<void> {
    return this.context.warnOfUnvisitedSteps()
  }

  #call(input: unknown, hooks: RunHooks): unknown {
    const { batches } = this.source
    if (batches !== null) return batches.join(this, input)
    const { aroundRun } = hooks
    const call =
      aroundRun === undefined
        ? () => this.handle(input)
        : () => aroundRun(this.context, async () => this.handle(input))
    return this.trace === undefined ? call() : this.trace.within(call)
  }

  /** The delay before the next attempt, if this one fails. A backoff function of the user's may throw: that must not lose the failure. */
  get retryAfterMs(): number {
    const { overrides, attempt } = this.claim
    const policy = { ...this.definition.retry, ...overrides?.retry }
    try {
      return retryDelayMs(policy, attempt, this.services.random())
    } catch {
      return retryDelayMs(RETRY_DEFAULT, attempt, this.services.random())
    }
  }

  /** What listeners and hooks are told about it. */
  get event(): TaskEvent {
    const { id, name, queue, claim, services } = this
    const { attempt, maxAttempts } = claim
    return { id, name, queue, attempt, maxAttempts, worker: services.worker }
  }
}
