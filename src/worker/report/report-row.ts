import { GleanerError } from '../../errors.ts'
import type { RowAnswer } from '../../model/row.ts'
import type { BrokenDiscovery } from '../../store/contract.ts'
import type { Attempt } from '../attempt.ts'
import type { HandedIn } from '../outbox.ts'
import { endOfRow } from './attempt-trace.ts'
import { type Reporting, ranMs, tellOfFailure } from './report.ts'

/** Tells listeners and hooks what became of rows that were handed in: the store says so, not the handler. */
export function reportRows(
  reporting: Reporting,
  handedIn: readonly HandedIn[],
  answers: readonly RowAnswer[],
): void {
  // A whole batch may have met the same obstacle: that is one problem.
  const told = new Set<string>()
  for (const [index, { attempt }] of handedIn.entries()) {
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
  const { emitter, meter, eventOf } = reporting
  const event = () => eventOf(attempt)
  const durationMs = ranMs(reporting, attempt)
  attempt.trace?.ended(endOfRow(answer))
  switch (answer.kind) {
    case 'done':
      meter.ran(attempt, 'completed', durationMs)
      return emitter.emit('completed', () => ({ ...event(), durationMs }))
    case 'failed':
      return reportFailure(reporting, attempt, answer, durationMs)
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

function reportFailure(
  { emitter, hooks, meter, eventOf }: Reporting,
  attempt: Attempt,
  { failure: error, retryInMs }: RowAnswer & { kind: 'failed' },
  durationMs: number,
): void {
  const final = retryInMs === null
  meter.ran(attempt, final ? 'failed' : 'retried', durationMs)
  meter.incident(attempt, error.kind)
  tellOfFailure(emitter, hooks, eventOf(attempt), error, final)
  const event = () => ({ ...eventOf(attempt), durationMs, error })
  if (final) return emitter.emit('failed', event)
  emitter.emit('retrying', () => ({ ...event(), afterMs: retryInMs }))
}

function tellOfEdits({ emitter }: Reporting, { claim }: Attempt, times: number): void {
  const error = new Error(
    'if the handler itself writes to the row, return the values from `done`, or write in `ctx.complete`',
  )
  const message = `row ${claim.id} was edited during ${times} runs in a row, and backs off`
  emitter.emit('problem', () => ({ message, error }))
}
