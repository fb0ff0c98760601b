import { rowId } from '../../../model/row.ts'
import type { RowClaim, RowWant } from '../../rows.ts'
import type { Statement } from '../server/database.ts'
import type { Known } from './book.ts'
import { LEAD, type Look } from './claim-sql.ts'
import { USER_TYPES } from './values.ts'

/** What is still wanted. */
export interface Wanted {
  start: number
  total: number
}

export function wantedOf({ start, ahead }: RowWant, taken: number): Wanted {
  return { start: Math.max(0, start - taken), total: start + ahead - taken }
}

/** Claimed together: so many are worth telling others where they end. */
const TOLD_MIN = 50

/** When it is our turn (see `turnSql`). */
export function claimStatement(
  known: Known,
  session: string,
  clockMs: number | null,
  look: Look,
  wanted: Wanted,
  rows: number,
  /** Discoveries whose suspects go first. */
  first: readonly string[] = [],
): Statement {
  const values = [session, clockMs, rows, wanted.total, wanted.start, known.version, first, ...where(look)]
  return { text: known.claimText(look.at), values, types: USER_TYPES }
}

function where(look: Look): unknown[] {
  if (look.at === 'due') return []
  if (look.at === 'suspects') return [look.but]
  const toldMin = look.tells ? TOLD_MIN : null
  if (look.at === 'beginning') return [toldMin]
  return look.at === 'place' ? [toldMin, look.place] : [toldMin, look.place, look.heard]
}

export interface Claimed {
  /** False: it did not look, because it was not our turn, or something was paused, planned anew or altered. */
  looked: boolean
  claims: RowClaim[]
  /** Free when it looked; with those that it did not get a race was lost. */
  found: number
  place: string | null
  last: string | null
  told: string | null
}

export function readClaimed(known: Known, rows: readonly any[][], wanted: Wanted): Claimed {
  const [first] = rows
  const found = first![LEAD.found] as number
  const won = first![LEAD.won] === null ? null : new Set(first![LEAD.won] as string[])
  const free = found === 0 ? [] : rows
  const isOurs = (key: string) => won === null || won.has(key)
  const claims = free.flatMap((row, at) =>
    isOurs(row[LEAD.key]) ? [claimOf(known, row, first![LEAD.fence], at < wanted.start)] : [],
  )
  return {
    looked: first![LEAD.now] !== null,
    claims,
    found,
    place: free.at(-1)?.[LEAD.place] ?? null,
    last: first![LEAD.last],
    told: first![LEAD.told],
  }
}

function claimOf(known: Known, row: readonly any[], fence: number, started: boolean): RowClaim {
  const key = row[LEAD.key] as string
  const { columns } = known.source
  return {
    id: rowId(known.name, key),
    fence,
    discovery: known.name,
    key,
    row: Object.fromEntries(columns.map(({ name }, at) => [name, row[LEAD.user + at]])),
    attempt: row[LEAD.attempt],
    maxAttempts: known.declared.maxAttempts,
    started,
    suspect: row[LEAD.suspect],
  }
}
