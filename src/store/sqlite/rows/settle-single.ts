import { property } from '../../../thrown.ts'
import type { RowExchange, RowsExchanged } from '../../ports/rows.ts'
import { sqliteCode } from '../drivers/codes.ts'

type HandIn = (exchange: RowExchange) => Promise<RowsExchanged>

/**
 * Hands in what is finished; one after the other, should one of them undo the whole transaction: a foreign key that is checked at
 * the commit, or a trigger that rolls back. That one fails, and the others are done.
 */
export async function handIn(exchange: RowExchange, attempt: HandIn): Promise<RowsExchanged> {
  try {
    return await attempt(exchange)
  } catch (error) {
    if (exchange.outcomes.length === 0 || !isOfARow(error)) throw error
  }
  const alone = { ...exchange, starts: [], want: null, holding: undefined }
  const answers = []
  for (const handedIn of exchange.outcomes) {
    const answer = await attempt({ ...alone, outcomes: [handedIn] }).catch((error) => {
      if (!isOfARow(error) || handedIn.outcome.kind !== 'completed') throw error
      const message = `what done returned could not be written: ${(error as Error).message}`
      const failure = { kind: 'error', message, stack: null } as const
      const { retryAfterMs } = handedIn.outcome
      return attempt({
        ...alone,
        outcomes: [{ ...handedIn, outcome: { kind: 'failed', failure, retryAfterMs } }],
      })
    })
    answers.push(...answer.answers)
  }
  return { ...(await attempt({ ...exchange, outcomes: [] })), answers }
}

function isOfARow(error: unknown): boolean {
  return sqliteCode(property(error, 'cause'))?.startsWith('SQLITE_CONSTRAINT') ?? false
}
