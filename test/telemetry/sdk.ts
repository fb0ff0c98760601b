import { context, propagation, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

/** A span as a test looks at it; it can be passed on between processes. */
export interface Seen {
  name: string
  kind: string
  traceId: string
  spanId: string
  parent: string | null
  links: string[]
  attributes: Record<string, unknown>
  isError: boolean
  exceptions: unknown[]
  durationMs: number
}

const exporter = new InMemorySpanExporter()

/** What an application does to trace: once in a process. */
export function startSdk(): void {
  const spanProcessors = [new SimpleSpanProcessor(exporter)]
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
}

/** All that ended since it was asked last. */
export function seen(): Seen[] {
  const spans = exporter.getFinishedSpans().map((span) => {
    const { traceId, spanId } = span.spanContext()
    return {
      name: span.name,
      kind: SpanKind[span.kind],
      traceId,
      spanId,
      parent: span.parentSpanContext?.spanId ?? null,
      links: span.links.map(({ context: { spanId } }: { context: SpanContext }) => spanId),
      attributes: span.attributes,
      isError: span.status.code === SpanStatusCode.ERROR,
      exceptions: span.events.map(({ attributes }) => attributes?.['exception.message']),
      durationMs: span.duration[0] * 1_000 + span.duration[1] / 1e6,
    }
  })
  exporter.reset()
  return spans
}

/** What is begun in `work` belongs to a span of the application's own. */
export async function inSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  return trace.getTracer('app').startActiveSpan(name, async (span) => {
    try {
      return await work()
    } finally {
      span.end()
    }
  })
}
