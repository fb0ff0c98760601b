import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { asError } from '../thrown.ts'

export function markFailed(span: Span, error: unknown): void {
  const told = asError(error)
  span.recordException(told)
  span.setAttribute('error.type', (told as { code?: string }).code ?? told.name)
  span.setStatus({ code: SpanStatusCode.ERROR, message: told.message })
}
