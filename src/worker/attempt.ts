import type { Uses } from '../define/resource.ts'
import type { Carrier } from '../define/telemetry.ts'
import { durationMs } from '../duration.ts'
import {
  GleanerError,
  InputError,
  isOutage,
  PermanentError,
  ResourceError,
  RetryLater,
  StoppedError,
  TaskCancelled,
  TimeoutError,
} from '../errors.ts'
import type { Outcome } from '../model/outcome.ts'
import { RETRY_DEFAULT, type RetryPolicy, retryDelayMs } from '../model/retry.ts'
import type { Failure, FailureKind } from '../model/task.ts'
import { describeThrown, isInstanceOf, property, titleOf } from '../thrown.ts'
import { RunContext } from './context.ts'
import { ForeignFailure } from './foreign-failure.ts'
import type { RunHooks } from './hooks.ts'
import { AttemptTrace } from './report/attempt-trace.ts'
import type { RunServices } from './run-services.ts'
import type { AttemptOutcome, Item, Source } from './sources/source.ts'

const MESSAGE_MAX = 2_000
/** At least so long is waited after the store has failed; up to twice that. */
const OUTAGE_REST_MS = 1_000

type OnEnd = (attempt: Attempt, outcome: AttemptOutcome) => void

/** One run of one item: from its claim to its outcome. */
export abstract class Attempt {
  readonly claim: Item
  readonly source: Source
  readonly timeoutMs: number
  readonly startedAt: number
  /** When its handler began: what it needs was loaded by then. */
  startedMs: number
  readonly context: RunContext
  /** The store knows that it was started: it was claimed for that, or told since. */
  startIsKnown: boolean
  /** Its outcome was handed in (or is nobody's any more), though the handler may still be running. */
  settled = false
  /** `ctx.complete` is under way. */
  isCompleting = false
  /** Among the runs of its worker. */
  place = 0
  /** When its outcome was known; 0 before. */
  endedMs = 0
  /** The worker is broken, says its handler, or what that needs would not load. */
  trouble: ResourceError | undefined = undefined
  /** What the store failed with under its handler. */
  outage: unknown = undefined
  /** Only there when somebody traces. */
  trace: AttemptTrace | undefined = undefined
  protected readonly services: RunServices
  /** When its time-out, or the grace after an abort, is over. */
  deadlineMs: number

  constructor(claim: Item, source: Source, timeoutMs: number, services: RunServices) {
    this.claim = claim
    this.source = source
    this.timeoutMs = timeoutMs
    this.startIsKnown = claim.started
    this.startedAt = services.clock.now()
    this.startedMs = services.clock.monotonicMs()
    this.deadlineMs = this.startedMs + timeoutMs
    this.services = services
    this.context = new RunContext(this, services)
  }

  /** Of the task, or of the discovery. */
  abstract get name(): string
  /** As health frames call it: `<name>/<id>`. */
  abstract get item(): string
  /** The resources its handler needs; null for most. */
  abstract get uses(): Uses | null
  /** Where it waited; null for what waits in a table of the user's. */
  abstract get queue(): string | null
  abstract get retry(): RetryPolicy
  /** Where it came from, if somebody traced that. */
  abstract get carrier(): Carrier | null
  /** What the handler is given, checked. */
  protected abstract input(): unknown
  protected abstract handle(input: unknown): unknown
  /** What a result means; it throws when that cannot be stored. */
  abstract completed(result: unknown): AttemptOutcome

  /** Parse, run, encode; whatever happens becomes an outcome, which `onEnd` is told. */
  async run(hooks: RunHooks, onEnd: OnEnd): Promise<void> {
    if (hooks.tracing !== undefined) this.trace = new AttemptTrace(hooks.tracing, this)
    let outcome: AttemptOutcome
    try {
      const input = this.input()
      const given = input instanceof Promise ? await input : input
      if (this.uses !== null) await this.services.acquire(this, this.uses)
      const result = await this.#handle(given, hooks)
      outcome = this.completed(result)
    } catch (error) {
      outcome = this.outcomeOf(error)
    }
    this.trace?.returned()
    onEnd(this, outcome)
  }

  #handle(input: unknown, hooks: RunHooks): unknown {
    if (this.trace === undefined) return this.#around(input, hooks)
    return this.trace.within(() => this.#around(input, hooks))
  }

  #around(input: unknown, { aroundRun }: RunHooks): unknown {
    if (aroundRun === undefined) return this.handle(input)
    return aroundRun(this.context, async () => this.handle(input))
  }

  /** One clause for each way to end badly. */
  outcomeOf(error: unknown): Outcome {
    const reason = this.context.abortReason
    if (reason instanceof StoppedError) return { kind: 'returned' }
    if (reason instanceof TaskCancelled) return { kind: 'cancelled' }
    if (reason instanceof TimeoutError) return this.#failed('timeout', reason)
    if (error instanceof RetryLater) return this.#later(error)
    if (error instanceof ResourceError) return this.#broken(error)
    // The same input or result would be refused again.
    if (error instanceof PermanentError || isRefusal(error)) return final('permanent', error)
    if (isOutage(error)) return this.#withoutStore(error)
    return this.#failed('error', error)
  }

  /** When it is tried again, should this attempt fail. */
  protected get retryAfterMs(): number {
    return delayMs(this.retry, this.claim.attempt, this.services.random())
  }

  #failed(kind: FailureKind, error: unknown): Outcome {
    const retryAfterMs = askedDelayMs(error) ?? this.retryAfterMs
    return { kind: 'failed', failure: failure(kind, error), retryAfterMs }
  }

  /** Another worker, or this one when it is mended, may do better. */
  #broken(error: ResourceError): Outcome {
    this.trouble = error
    return { kind: 'later', afterMs: this.retryAfterMs, failure: failure('error', error) }
  }

  /** The handler could not help it. Many may have met the same: they do not all come back at once. */
  #withoutStore(error: unknown): Outcome {
    this.outage = error
    const restMs = Math.round(OUTAGE_REST_MS * (1 + this.services.random()))
    return { kind: 'later', afterMs: Math.max(this.retryAfterMs, restMs), failure: failure('error', error) }
  }

  #later(error: RetryLater): Outcome {
    try {
      return { kind: 'later', afterMs: durationMs(error.after, 'RetryLater') }
    } catch (bad) {
      return final('permanent', bad)
    }
  }
}

function isRefusal(error: unknown): boolean {
  const refusals: unknown[] = ['BAD_INPUT', 'NOT_JSON', 'RESULT_TOO_LARGE']
  return error instanceof InputError && refusals.includes(property(error, 'code'))
}

function final(kind: FailureKind, error: unknown): Outcome {
  return { kind: 'failed', failure: failure(kind, error), retryAfterMs: null }
}

/** A backoff function of the user's may throw: that must not lose the failure it was asked about. */
function delayMs(policy: RetryPolicy, attempt: number, random: number): number {
  try {
    return retryDelayMs(policy, attempt, random)
  } catch {
    return retryDelayMs(RETRY_DEFAULT, attempt, random)
  }
}

function askedDelayMs(error: unknown): number | null {
  return isInstanceOf(error, ForeignFailure) ? error.retryAfterMs : null
}

/** Whatever was thrown, bounded. */
function failure(kind: FailureKind, error: unknown): Failure {
  const thrown = describeThrown(error)
  const isInOwnWords = error instanceof GleanerError || isInstanceOf(error, ForeignFailure)
  const message = isInOwnWords ? thrown.message : titleOf(thrown)
  return { kind, message: message.slice(0, MESSAGE_MAX), stack: thrown.stack }
}
