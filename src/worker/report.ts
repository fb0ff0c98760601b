import type { Clock } from '../clock.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Meter } from '../queue/meter.ts'
import type { Exchanged } from '../store/contract.ts'
import { type Emitter, harmless, type TaskEvent } from './events.ts'
import type { Execution } from './execution.ts'
import type { Hooks } from './hooks.ts'
import type { HandedIn } from './news.ts'

export interface Reporting {
  emitter: Emitter
  hooks: Hooks
  clock: Pick<Clock, 'monotonicMs'>
  meter: Meter
}

/** Only after the commit is it true: that is when listeners and hooks are told. */
export function reportAll(
  reporting: Reporting,
  eventOf: (execution: Execution) => TaskEvent,
  handedIn: readonly HandedIn[],
  answer: Exchanged,
): void {
  const refused = new Set(answer.refused)
  for (const { execution, outcome } of handedIn) {
    const lost = answer.sessionEnded || refused.has(execution.claim.id)
    reportOutcome(reporting, eventOf, execution, lost ? null : outcome)
  }
}

/** Tells listeners and hooks what became of an item. Null: its claim was lost, whatever it did. */
export function reportOutcome(
  { emitter, hooks, clock, meter }: Reporting,
  eventOf: (execution: Execution) => TaskEvent,
  execution: Execution,
  outcome: Outcome | null,
): void {
  // It may have waited since for others to share its transaction.
  const ranMs = (execution.endedMs || clock.monotonicMs()) - execution.startedMs
  if (outcome?.kind === 'completed') {
    meter.ran(execution, 'completed', ranMs)
    // Most end like this, and mostly nobody listens.
    if (!emitter.hears('completed')) return
  }
  const event = () => eventOf(execution)
  if (outcome === null) return emitter.emit('claim-lost', event)
  switch (outcome.kind) {
    case 'completed':
      return emitter.emit('completed', () => ({ ...event(), durationMs: ranMs }))
    case 'cancelled':
      return emitter.emit('cancelled', event)
    case 'later':
    case 'returned':
      return emitter.emit('returned', event)
    case 'failed': {
      const { failure, retryAfterMs } = outcome
      const final = retryAfterMs === null || execution.claim.attempt >= execution.claim.maxAttempts
      meter.ran(execution, final ? 'failed' : 'retried', ranMs)
      tellOfFailure(emitter, hooks, event(), failure, final)
      if (final) return emitter.emit('failed', () => ({ ...event(), durationMs: ranMs, error: failure }))
      return emitter.emit('retrying', () => ({
        ...event(),
        durationMs: ranMs,
        error: failure,
        afterMs: retryAfterMs,
      }))
    }
  }
}

/** An error tracker that fails must not fail the work it reports on. */
export function tellOfFailure(
  emitter: Emitter,
  hooks: Hooks,
  event: TaskEvent,
  failure: Parameters<NonNullable<Hooks['onFailure']>>[0],
  final: boolean,
): void {
  const onError = (error: unknown) =>
    emitter.emit('problem', () => ({ message: 'the hook onFailure threw', error }))
  harmless(() => hooks.onFailure?.(failure, { ...event, final }), onError)
}
