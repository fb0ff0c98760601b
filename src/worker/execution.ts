import { encodePayload } from '../define/payload.ts'
import { checkAgainst } from '../define/schema.ts'
import type { TaskDefinition } from '../define/task.ts'
import { durationMs } from '../duration.ts'
import {
  GleanerError,
  InputError,
  PermanentError,
  RetryLater,
  StoppedError,
  TaskCancelled,
  TimeoutError,
} from '../errors.ts'
import type { Outcome } from '../model/outcome.ts'
import { RETRY_DEFAULT, type RetryPolicy, retryDelayMs } from '../model/retry.ts'
import type { Failure, FailureKind } from '../model/task.ts'
import type { Claim } from '../store/contract.ts'
import { RunContext } from './context.ts'
import type { Desk } from './desk.ts'
import type { Hooks } from './hooks.ts'

const MESSAGE_MAX = 2_000
const STACK_MAX = 8_000

type OnEnd = (execution: Execution, outcome: Outcome) => void

/** One run of one item: from its claim to its outcome. */
export class Execution {
  readonly claim: Claim
  readonly definition: TaskDefinition
  readonly startedAt: number
  readonly startedMs: number
  readonly context: RunContext
  /** The store knows that it was started: it was claimed for that, or told since. */
  startIsKnown: boolean
  /** Its outcome was handed in (or is nobody's any more), though the handler may still be running. */
  settled = false
  /** Among the runs of its worker. */
  place = 0
  /** When its outcome was known; 0 before. */
  endedMs = 0
  readonly #random: () => number
  /** When its time-out, or the grace after an abort, is over. */
  deadlineMs: number

  constructor(claim: Claim, definition: TaskDefinition, desk: Desk) {
    this.claim = claim
    this.startIsKnown = claim.started
    this.definition = definition
    this.startedAt = desk.clock.now()
    this.startedMs = desk.clock.monotonicMs()
    this.deadlineMs = this.startedMs + (claim.overrides?.timeoutMs ?? definition.timeoutMs)
    this.#random = desk.random
    this.context = new RunContext(this, desk)
  }

  get timeoutMs(): number {
    return this.claim.overrides?.timeoutMs ?? this.definition.timeoutMs
  }

  /** Parse, run, encode; whatever happens becomes an outcome, which `onEnd` is told. */
  async run(hooks: Hooks, payloadLimit: number, onEnd: OnEnd): Promise<void> {
    let outcome: Outcome
    try {
      const input = this.#input()
      const result = await this.#handle(input instanceof Promise ? await input : input, hooks)
      outcome = { kind: 'completed', result: this.#encoded(result, payloadLimit) }
    } catch (error) {
      outcome = this.outcomeOf(error)
    }
    onEnd(this, outcome)
  }

  #input(): unknown {
    const { claim, definition } = this
    const input = claim.input === null ? undefined : JSON.parse(claim.input)
    if (definition.input === undefined) return input
    return checkAgainst(definition.input, input, `input of ${definition.name}`)
  }

  #handle(input: unknown, hooks: Hooks): unknown {
    const { context } = this
    if (hooks.aroundRun === undefined) return this.definition.run!(input, context)
    return hooks.aroundRun(context, async () => this.definition.run!(input, context))
  }

  #encoded(result: unknown, payloadLimit: number): string | null {
    return encodePayload(result, `result of ${this.definition.name}`, payloadLimit, 'RESULT_TOO_LARGE')
  }

  /** One clause for each way to end badly. */
  outcomeOf(error: unknown): Outcome {
    const reason = this.context.abortReason
    if (reason instanceof StoppedError) return { kind: 'returned' }
    if (reason instanceof TaskCancelled) return { kind: 'cancelled' }
    if (reason instanceof TimeoutError) return this.#failed('timeout', reason)
    if (error instanceof RetryLater) return this.#later(error)
    // The same input or result would be refused again.
    if (error instanceof PermanentError || isRefusal(error)) return final('permanent', error)
    return this.#failed('error', error)
  }

  #failed(kind: FailureKind, error: unknown): Outcome {
    const policy: RetryPolicy = { ...this.definition.retry, ...this.claim.overrides?.retry }
    return {
      kind: 'failed',
      failure: failure(kind, error),
      retryAfterMs: delayMs(policy, this.claim.attempt, this.#random()),
    }
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
  return error instanceof InputError && ['BAD_INPUT', 'NOT_JSON', 'RESULT_TOO_LARGE'].includes(error.code)
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

/** Whatever was thrown, bounded. */
function failure(kind: FailureKind, error: unknown): Failure {
  if (!(error instanceof Error)) return { kind, message: String(error).slice(0, MESSAGE_MAX), stack: null }
  const message = error instanceof GleanerError ? error.message : `${error.name}: ${error.message}`
  return { kind, message: message.slice(0, MESSAGE_MAX), stack: error.stack?.slice(0, STACK_MAX) ?? null }
}
