import type { Outcome } from '../model/outcome.ts'
import type { Exchanged } from '../store/contract.ts'
import { type Emitter, harmless, type TaskEvent } from './events.ts'
import type { Execution } from './execution.ts'
import type { Hooks } from './hooks.ts'
import type { HandedIn } from './news.ts'

interface Listeners {
  emitter: Emitter
  hooks: Hooks
  clock: { monotonicMs(): number }
}

/** Only after the commit is it true: that is when listeners and hooks are told. */
export function reportAll(
  listeners: Listeners,
  eventOf: (execution: Execution) => TaskEvent,
  handedIn: readonly HandedIn[],
  answer: Exchanged,
): void {
  const refused = new Set(answer.refused)
  for (const { execution, outcome } of handedIn) {
    const lost = answer.sessionEnded || refused.has(execution.claim.id)
    reportOutcome(listeners, eventOf, execution, lost ? null : outcome)
  }
}

/** Tells listeners and hooks what became of an item. Null: its claim was lost, whatever it did. */
export function reportOutcome(
  { emitter, hooks, clock }: Listeners,
  eventOf: (execution: Execution) => TaskEvent,
  execution: Execution,
  outcome: Outcome | null,
): void {
  // Most end like this, and mostly nobody listens.
  if (outcome?.kind === 'completed' && !emitter.hears('completed')) return
  const event = () => eventOf(execution)
  const durationMs = () => clock.monotonicMs() - execution.startedMs
  if (outcome === null) return emitter.emit('claim-lost', event)
  switch (outcome.kind) {
    case 'completed':
      return emitter.emit('completed', () => ({ ...event(), durationMs: durationMs() }))
    case 'cancelled':
      return emitter.emit('cancelled', event)
    case 'later':
    case 'returned':
      return emitter.emit('returned', event)
    case 'failed': {
      const { failure, retryAfterMs } = outcome
      const final = retryAfterMs === null || execution.claim.attempt >= execution.claim.maxAttempts
      tellOfFailure(emitter, hooks, event(), failure, final)
      if (final)
        return emitter.emit('failed', () => ({ ...event(), durationMs: durationMs(), error: failure }))
      return emitter.emit('retrying', () => ({
        ...event(),
        durationMs: durationMs(),
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
