import type { RowAnswer } from '../../../model/row.ts'
import type { RowExchange, RowsExchanged } from '../../ports/rows.ts'
import { type Group, groupOf, knownFor, valuesOf } from './completion-group.ts'
import { type RowAnswers, type RowToSettle, rowsToSettle } from './row-to-settle.ts'
import { RowScan } from './scan.ts'
import type { RowServices } from './services.ts'
import { type InvalidCompletion, NOTHING_SETTLED, settleApart } from './settle-apart.ts'
import { settleBatch } from './settle-batch.ts'

/** What an exchange changed that others wait for. `freed`: something may be claimable that was not. */
export interface RowEffect {
  answer: RowsExchanged
  freed: boolean
}

/**
 * Hands in what is finished, and takes what is next. What simply succeeds goes in one batch together with the claim; should
 * one of them be refused by the database, nothing of that has happened, and each is handed in alone.
 */
export async function exchangeRows(services: RowServices, exchange: RowExchange): Promise<RowEffect> {
  const { session, want } = exchange
  const answers: RowAnswers = new Map()
  const rows = rowsToSettle(exchange.outcomes)
  const { groups, others } = await sorted(services, rows)
  // Who has nothing to say and wants nothing asks whether it is still alive.
  const asksOnly = groups.length === 0 && want === null
  const apart = asksOnly || others.length > 0 || exchange.starts.length > 0 || exchange.holding !== undefined
  const told = apart ? await settleApart(services, exchange, others, answers) : NOTHING_SETTLED
  if (!told.live) return { answer: sessionOver(exchange), freed: false }

  if (exchange.holding !== undefined) services.life.compared('rows', session, told.life)
  const looking = want === null ? null : new RowScan(services, session, want)
  let seen =
    groups.length > 0 || looking !== null
      ? await settleBatch({ services, session, answers }, groups, looking)
      : null
  if (seen?.live && looking !== null) seen = await looking.go(seen)
  const all = rows.map((row) => answers.get(row)!)
  // What was handed in before it was over is done.
  if (seen !== null && !seen.live) return { answer: { ...sessionOver(exchange), answers: all }, freed: false }

  const compare = looking !== null && !looking.isCertain(seen!)
  if (compare && seen!.life === null) await services.life.begin()
  const answer: RowsExchanged = {
    claims: looking?.claims ?? [],
    answers: all,
    refused: told.refused,
    sessionEnded: false,
    suspectsWaiting: want !== null && !want.empty && seen!.suspects,
    nextDueInMs: looking === null ? null : compare ? 0 : looking.nextDueInMs(seen!),
    ...(compare ? { compare } : {}),
    ...(looking === null
      ? {}
      : { paused: seen!.everythingPaused, conflicts: looking.conflicts, broken: looking.broken }),
  }
  return { answer, freed: told.unknown || all.some(isFreed) }
}

function sessionOver({ outcomes, starts }: RowExchange): RowsExchanged {
  return {
    claims: [],
    answers: outcomes.map((): RowAnswer => ({ kind: 'refused' })),
    refused: starts.map(({ id }) => id),
    sessionEnded: true,
    suspectsWaiting: false,
    nextDueInMs: null,
  }
}

/** It waits again, at once. */
function isFreed(answer: RowAnswer): boolean {
  return answer.kind === 'changed' || (answer.kind === 'returned' && answer.afterMs === 0)
}

/** Rows that may simply succeed, by what is to be written; and all others. */
async function sorted(services: RowServices, rows: readonly RowToSettle[]) {
  const groups = new Map<string, Group>()
  const others: (RowToSettle | InvalidCompletion)[] = []
  for (const row of rows) {
    if (row.outcome.kind !== 'completed') {
      others.push(row)
      continue
    }
    const names = Object.keys(valuesOf(row)).sort()
    const key = JSON.stringify([row.discovery, ...names])
    let group = groups.get(key)
    if (group === undefined) {
      const known = await knownFor(services.book, row.discovery, names)
      if (typeof known === 'string') {
        others.push({ row, reason: known })
        continue
      }
      group = groupOf(known, names)
      groups.set(key, group)
    }
    group.rows.push(row)
  }
  return { groups: [...groups.values()], others }
}
