import type { AttemptEnd, Running, RunningStep } from '../../define/telemetry.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RowAnswer } from '../../model/row.ts'
import type { Tracing } from '../../observe/tracing.ts'
import type { Attempt } from './attempt.ts'

/** An attempt as it is traced. */
export class AttemptTrace {
  readonly #tracing: Tracing
  readonly #running: Running | undefined

  constructor(tracing: Tracing, { id, name, queue, claim }: Traced) {
    const { attempt, maxAttempts, overrides } = claim
    const carrier = overrides?.trace ?? null
    this.#tracing = tracing
    this.#running = tracing.try(() =>
      tracing.telemetry.running({ id, name, queue, attempt, maxAttempts, carrier }),
    )
  }

  within(handler: () => unknown): unknown {
    const running = this.#running
    return running === undefined ? handler() : this.#tracing.inside((work) => running.within(work), handler)
  }

  /** Undefined: the tracer does not trace steps. */
  step(name: string, number: number): StepTrace | undefined {
    const running = this.#tracing.try(() => this.#running?.step?.({ name, number }))
    return running === undefined ? undefined : new StepTrace(this.#tracing, running)
  }

  returned(): void {
    this.#tracing.try(() => this.#running?.returned())
  }

  ended(how: AttemptEnd): void {
    this.#tracing.try(() => this.#running?.ended(how))
  }
}

/** A step as it is traced. */
class StepTrace {
  readonly #tracing: Tracing
  readonly #running: RunningStep

  constructor(tracing: Tracing, running: RunningStep) {
    this.#tracing = tracing
    this.#running = running
  }

  async within<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await this.#tracing.inside((begin) => this.#running.within(begin), work)
      this.#tracing.try(() => this.#running.ended())
      return result
    } catch (error) {
      this.#tracing.try(() => this.#running.ended({ error }))
      throw error
    }
  }
}

type Traced = Pick<Attempt, 'id' | 'claim' | 'name' | 'queue'>

/** Null: its claim was lost, whatever it did. */
export function endOfTask(outcome: Outcome | null, isFinal: boolean): AttemptEnd {
  if (outcome === null) return { kind: 'claim-lost' }
  if (outcome.kind === 'waits') return { kind: 'suspended' }
  if (outcome.kind !== 'failed') return { kind: outcome.kind }
  const { failure: error, retryAfterMs } = outcome
  return isFinal ? { kind: 'failed', error } : { kind: 'retrying', error, afterMs: retryAfterMs ?? 0 }
}

export function endOfRow(answer: RowAnswer): AttemptEnd {
  switch (answer.kind) {
    case 'done':
      return { kind: 'completed' }
    case 'failed':
      return answer.retryInMs === null
        ? { kind: 'failed', error: answer.failure }
        : { kind: 'retrying', error: answer.failure, afterMs: answer.retryInMs }
    case 'refused':
      return { kind: 'claim-lost' }
    case 'paused':
      return { kind: 'returned' }
    default:
      return { kind: answer.kind }
  }
}
