import type { Clock } from '../../clock.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Meter } from '../../queue/meter.ts'
import type { Attempt } from '../attempt.ts'
import { type Emitter, harmless, type TaskEvent } from '../events.ts'
import type { Hooks } from '../hooks.ts'
import { endOfTask } from './attempt-trace.ts'

/** Only after the commit is it true: that is when listeners and hooks are told. */
export interface Reporting {
  emitter: Emitter
  hooks: Hooks
  clock: Pick<Clock, 'monotonicMs'>
  meter: Meter
  eventOf: (attempt: Attempt) => TaskEvent
}

/** Tells listeners and hooks what became of an item. Null: its claim was lost, whatever it did. */
export function reportTask(reporting: Reporting, attempt: Attempt, outcome: Outcome | null): void {
  const { emitter, hooks, meter, eventOf } = reporting
  const durationMs = ranMs(reporting, attempt)
  attempt.trace?.ended(endOfTask(outcome, isFinal(attempt, outcome)))
  if (outcome?.kind === 'completed') {
    meter.ran(attempt, 'completed', durationMs)
    // Most end like this, and mostly nobody listens.
    if (!emitter.hears('completed')) return
  }
  const event = () => eventOf(attempt)
  if (outcome === null) {
    meter.incident(attempt, 'fenced')
    return emitter.emit('claim-lost', event)
  }
  switch (outcome.kind) {
    case 'completed':
      return emitter.emit('completed', () => ({ ...event(), durationMs }))
    case 'cancelled':
      meter.stirred()
      return emitter.emit('cancelled', event)
    case 'later':
    case 'returned':
      return emitter.emit('returned', event)
    case 'failed': {
      const { failure, retryAfterMs } = outcome
      const final = isFinal(attempt, outcome)
      meter.ran(attempt, final ? 'failed' : 'retried', durationMs)
      meter.incident(attempt, failure.kind)
      tellOfFailure(emitter, hooks, event(), failure, final)
      if (final) return emitter.emit('failed', () => ({ ...event(), durationMs, error: failure }))
      return emitter.emit('retrying', () => ({
        ...event(),
        durationMs,
        error: failure,
        afterMs: retryAfterMs!,
      }))
    }
  }
}

/** It failed, and is not tried again. */
function isFinal({ claim }: Attempt, outcome: Outcome | null): boolean {
  if (outcome?.kind !== 'failed') return false
  return outcome.retryAfterMs === null || claim.attempt >= claim.maxAttempts
}

/** How long it ran: it may have waited since for others to share its transaction. */
export function ranMs({ clock }: Reporting, { endedMs, startedMs }: Attempt): number {
  return (endedMs || clock.monotonicMs()) - startedMs
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
