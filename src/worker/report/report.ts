import { GleanerError } from '../../errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RowAnswer, RowOutcome } from '../../model/row.ts'
import type { BrokenDiscovery } from '../../store/ports/rows.ts'
import type { Attempt, SettledAttempt } from '../attempt/attempt.ts'
import { endOfRow, endOfTask } from '../attempt/attempt-trace.ts'
import { harmless, type TaskEvent } from '../attempt/events.ts'
import type { Hooks } from '../attempt/hooks.ts'
import type { Reporting } from '../attempt/reporting.ts'

/** Tells listeners and hooks what became of a task. Null: its claim was lost, whatever its handler did. */
export function reportTask(reporting: Reporting, attempt: Attempt, outcome: Outcome | null): void {
  const { emitter, meter } = reporting
  const durationMs = ranMs(reporting, attempt)
  attempt.trace?.ended(endOfTask(outcome, isFinal(attempt, outcome)))
  if (outcome?.kind === 'completed') {
    meter.ran(attempt, 'completed', durationMs)
    // Most end like this, and mostly there is no listener.
    if (!emitter.hears('completed')) return
  }
  const event = () => attempt.event
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
    case 'waits':
      return emitter.emit('suspended', () => ({ ...event(), waits: outcome.waits }))
    case 'later':
    case 'returned':
      return emitter.emit('returned', event)
    case 'failed': {
      const { failure, retryAfterMs } = outcome
      const final = isFinal(attempt, outcome)
      meter.ran(attempt, final ? 'failed' : 'retried', durationMs)
      meter.incident(attempt, failure.kind)
      tellOfFailure(reporting, event(), failure, final)
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
function ranMs({ clock }: Reporting, { endedMs, startedMs }: Attempt): number {
  return (endedMs || clock.monotonicMs()) - startedMs
}

/** An error tracker that fails must not fail the work it reports on. */
export function tellOfFailure(
  { emitter, hooks }: Pick<Reporting, 'emitter' | 'hooks'>,
  event: TaskEvent,
  failure: Parameters<NonNullable<Hooks['onFailure']>>[0],
  final: boolean,
): void {
  const onError = (error: unknown) =>
    emitter.emit('problem', () => ({ message: 'the hook onFailure threw', error }))
  harmless(() => hooks.onFailure?.(failure, { ...event, final }), onError)
}

/** Tells listeners and hooks what became of rows that were handed in: the store says so, not the handler. */
export function reportRows(
  reporting: Reporting,
  settled: readonly SettledAttempt[],
  answers: readonly RowAnswer[],
): void {
  // A whole batch may have met the same obstacle: that is one problem.
  const told = new Set<string>()
  for (const [index, attempt] of settled.entries()) {
    const answer = answers[index]!
    reportRow(reporting, attempt, answer, told)
  }
}

export function reportRow(
  reporting: Reporting,
  attempt: Attempt,
  answer: RowAnswer,
  told: Set<string> = new Set(),
): void {
  const { emitter, meter } = reporting
  const event = () => attempt.event
  const durationMs = ranMs(reporting, attempt)
  attempt.trace?.ended(endOfRow(answer))
  switch (answer.kind) {
    case 'done':
      meter.ran(attempt, 'completed', durationMs)
      return emitter.emit('completed', () => ({ ...event(), durationMs }))
    case 'failed':
      return reportFailedRow(reporting, attempt, answer, durationMs)
    case 'changed': {
      const { times, backsOffMs } = answer
      if (backsOffMs !== null) tellOfEdits(reporting, attempt, times)
      return emitter.emit('changed', () => ({ ...event(), times, backsOffMs }))
    }
    case 'gone':
      return emitter.emit('gone', event)
    case 'refused':
      meter.incident(attempt, 'fenced')
      return emitter.emit('claim-lost', event)
    case 'paused':
      if (!told.has(answer.reason)) {
        told.add(answer.reason)
        reportBroken(reporting, { discovery: attempt.name, reason: answer.reason })
      }
      return emitter.emit('returned', event)
    case 'suspended': {
      const { waits } = attempt.outcome as RowOutcome & { kind: 'waits' }
      return emitter.emit('suspended', () => ({ ...event(), waits }))
    }
    case 'returned':
      return emitter.emit('returned', event)
  }
}

/** A discovery that cannot be worked on was paused. */
export function reportBroken({ emitter }: Reporting, { discovery, reason }: BrokenDiscovery): void {
  const message = `discovery ${discovery} was paused`
  emitter.emit('problem', () => ({
    message,
    error: new GleanerError(reason, {
      code: 'DISCOVERY_PAUSED',
      hint: `Fix the cause, then call \`gleaner.discoveries.resume('${discovery}')\`.`,
    }),
  }))
}

function reportFailedRow(
  { emitter, hooks, meter }: Reporting,
  attempt: Attempt,
  { failure: error, retryInMs }: RowAnswer & { kind: 'failed' },
  durationMs: number,
): void {
  const final = retryInMs === null
  meter.ran(attempt, final ? 'failed' : 'retried', durationMs)
  meter.incident(attempt, error.kind)
  tellOfFailure({ emitter, hooks }, attempt.event, error, final)
  const event = () => ({ ...attempt.event, durationMs, error })
  if (final) return emitter.emit('failed', event)
  emitter.emit('retrying', () => ({ ...event(), afterMs: retryInMs }))
}

function tellOfEdits({ emitter }: Reporting, { id }: Attempt, times: number): void {
  const error = new Error(
    'if the handler itself writes to the row, return the values from `done`, or write in `ctx.complete`',
  )
  const message = `row ${id} was edited during ${times} runs in a row, and backs off`
  emitter.emit('problem', () => ({ message, error }))
}
