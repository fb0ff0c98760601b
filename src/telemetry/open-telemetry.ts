import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { EnqueuedBatch, Enqueueing, Running, Telemetry, TracedAttempt } from '../define/telemetry.ts'
import { AttemptSpan } from './attempt-span.ts'
import { markFailed } from './mark-failed.ts'

/** What `openTelemetry` takes. */
export interface OpenTelemetryOptions {
  /** The tracer provider. Default: the global one. */
  tracerProvider?: TracerProvider
  /**
   * How an attempt relates to the trace of the enqueue. `'child'` (default): it is part of that trace. `'link'`: it starts its own trace
   * with a link to that one, for tasks that run hours later.
   */
  attempts?: 'child' | 'link'
}

const SYSTEM = { 'messaging.system': 'gleaner' }

/** Creates spans from `enqueue` to the end of each attempt, across processes. Without an OpenTelemetry SDK it does nothing. */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracerProvider, attempts = 'child' } = options
  // The global provider may be registered later: what it gives until then passes calls on.
  const tracer = (tracerProvider ?? trace).getTracer('gleaner')
  return {
    enqueueing: (batch) => beginEnqueueing(tracer, batch),
    running: (attempt) => beginAttempt(tracer, attempts, attempt),
    continuing: (headers, work) => context.with(propagation.extract(context.active(), headers), work),
  }
}

function beginEnqueueing(tracer: Tracer, { name, queue, count }: EnqueuedBatch): Enqueueing {
  const span = tracer.startSpan(`enqueue ${name}`, {
    kind: SpanKind.PRODUCER,
    attributes: {
      ...SYSTEM,
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'enqueue',
      'messaging.destination.name': queue,
      'gleaner.task.name': name,
      ...(count > 1 ? { 'messaging.batch.message_count': count } : {}),
    },
  })
  const carrier: Record<string, string> = {}
  propagation.inject(trace.setSpan(context.active(), span), carrier)
  return {
    carrier: Object.keys(carrier).length === 0 ? null : carrier,
    enqueued(ids) {
      if (ids.length === 1) span.setAttribute('messaging.message.id', ids[0]!)
      span.end()
    },
    failed(error) {
      markFailed(span, error)
      span.end()
    },
  }
}

function beginAttempt(
  tracer: Tracer,
  attempts: NonNullable<OpenTelemetryOptions['attempts']>,
  attempt: TracedAttempt,
): Running {
  const { name, carrier } = attempt
  // Not the active one: that is whatever the worker did last.
  const origin = carrier === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, carrier)
  const producer = trace.getSpanContext(origin)
  const isChild = attempts === 'child'
  const parent: Context = isChild ? origin : trace.deleteSpan(origin)
  const startTime = Date.now()
  const span = tracer.startSpan(
    `run ${name}`,
    {
      kind: SpanKind.CONSUMER,
      startTime,
      links: isChild || producer === undefined ? [] : [{ context: producer }],
      attributes: attributesOf(attempt),
    },
    parent,
  )
  return new AttemptSpan(tracer, span, { inside: trace.setSpan(parent, span), startTime })
}

function attributesOf({ id, name, queue, attempt, maxAttempts }: TracedAttempt): Attributes {
  const where =
    queue === null
      ? { 'gleaner.discovery.name': name, 'messaging.destination.name': name }
      : { 'gleaner.task.name': name, 'messaging.destination.name': queue }
  return {
    ...SYSTEM,
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'run',
    ...where,
    'messaging.message.id': id,
    'gleaner.attempt': attempt,
    'gleaner.max_attempts': maxAttempts,
  }
}
