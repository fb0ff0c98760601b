import { ClaimLostError } from '../../errors.ts'
import type { Attempt, SettledAttempt } from '../attempt/attempt.ts'
import type { Reporting } from '../attempt/reporting.ts'
import type { AttemptOutcome, SourceAnswer } from '../attempt/source.ts'

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/** Hands in how an attempt ended, with what it said last. Throws `ClaimLostError` when the claim was over. */
export async function settle(
  session: string,
  attempt: Attempt,
  outcome: AttemptOutcome,
  reporting: Reporting,
): Promise<void> {
  const { id, source } = attempt
  attempt.outcome = outcome
  attempt.settled = true
  attempt.endedMs = reporting.clock.monotonicMs()
  const unsent = source.outbox.take()
  const { progress, logs } = unsent.parts
  try {
    const settled = [attempt as SettledAttempt]
    const answer = await source.exchange({
      ...NOTHING,
      session,
      progress,
      logs,
      outcomes: settled,
      want: null,
    })
    source.report(reporting, settled, answer)
    if (isRefused(answer, id)) throw lostClaim(id)
  } catch (error) {
    if (error instanceof ClaimLostError) throw error
    // It is unknown whether it was written: the caller may try again.
    attempt.settled = false
    unsent.putBack()
    throw error
  }
}

/** What an attempt said since, and whether it is to stop. Nothing is claimed. */
export function exchangeNews(session: string, attempts: Iterable<Attempt>): Promise<SourceAnswer> | null {
  const [first] = attempts
  if (first === undefined) return null
  const unsent = first.source.outbox.take()
  const { progress, logs } = unsent.parts
  return first.source.exchange({ ...NOTHING, session, progress, logs, want: null }).catch((error) => {
    unsent.putBack()
    throw error
  })
}

export function lostClaim(id: string): ClaimLostError {
  return new ClaimLostError(`the claim on ${id} is over: nothing was written`)
}

function isRefused({ sessionEnded, refused, fenced = 0 }: SourceAnswer, id: string): boolean {
  return sessionEnded || fenced > 0 || refused.includes(id)
}
