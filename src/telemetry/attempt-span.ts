import { type Context, context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { AttemptEnd, Running, RunningStep, TracedStep } from '../define/telemetry.ts'
import type { Failure } from '../model/task.ts'
import { markFailed } from './mark-failed.ts'

/** Lasts as long as its handler did, and says what was committed of it. */
export class AttemptSpan implements Running {
  readonly #tracer: Tracer
  readonly #span: Span
  readonly #context: Context
  readonly #startTime: number
  readonly #startedMs = performance.now()
  #returnedMs: number | undefined
  #isOver = false

  constructor(tracer: Tracer, span: Span, { inside, startTime }: { inside: Context; startTime: number }) {
    this.#tracer = tracer
    this.#span = span
    this.#context = inside
    this.#startTime = startTime
  }

  within<T>(handler: () => T): T {
    return context.with(this.#context, handler)
  }

  step({ name, number }: TracedStep): RunningStep {
    const attributes = { 'gleaner.step.name': name, 'gleaner.step.number': number }
    const span = this.#tracer.startSpan(`step ${name}`, { attributes }, this.#context)
    return {
      within: (work) => context.with(trace.setSpan(this.#context, span), work),
      ended(failure) {
        if (failure !== undefined) markFailed(span, failure.error)
        span.end()
      },
    }
  }

  returned(): void {
    this.#returnedMs = performance.now()
  }

  ended(how: AttemptEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#span.setAttribute('gleaner.outcome', how.kind)
    if (how.kind === 'failed' || how.kind === 'retrying') this.#failed(how.error)
    if (how.kind === 'retrying') this.#span.setAttribute('gleaner.retry_after_ms', how.afterMs)
    const elapsedMs = (this.#returnedMs ?? performance.now()) - this.#startedMs
    this.#span.end(this.#startTime + elapsedMs)
  }

  #failed({ kind, message, stack }: Failure): void {
    this.#span.recordException({ name: kind, message, ...(stack === null ? {} : { stack }) })
    this.#span.setAttribute('error.type', kind)
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message })
  }
}
