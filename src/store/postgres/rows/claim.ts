import { rowId } from '../../../model/row.ts'
import type { RowClaim, RowClaimRequest } from '../../ports/rows.ts'
import type { Statement } from '../server/database.ts'
import { LEAD, type ScanStart, TOLD_MIN } from './claim-sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { USER_TYPES } from './values.ts'

/** What is still wanted. */
export interface StillWanted {
  start: number
  total: number
}

export function stillWanted({ start, ahead }: RowClaimRequest, taken: number): StillWanted {
  return { start: Math.max(0, start - taken), total: start + ahead - taken }
}

/** After an outlook that has said whether it is our turn. */
export function claimStatement(
  known: KnownDiscovery,
  session: string,
  { look, rows }: { look: ScanStart; rows: number },
  wanted: StillWanted,
): Statement {
  const tells = 'tells' in look && look.tells && wanted.total >= TOLD_MIN
  const but = look.at === 'suspects' ? [look.but] : []
  const values = [session, rows, wanted.total, wanted.start, ...but]
  return { text: known.claimText(look.at, tells), values, types: USER_TYPES }
}

export interface Claimed {
  claims: RowClaim[]
  /** Free when it looked; with those that it did not get a race was lost. */
  found: number
  place: string | null
  last: string | null
  /** Where it ended, if others were told. */
  told: string | null
}

export function readClaimed(known: KnownDiscovery, rows: readonly any[][], wanted: StillWanted): Claimed {
  const [first] = rows
  const won = first![LEAD.won] === null ? null : new Set(first![LEAD.won] as string[])
  const free = first![LEAD.key] === null ? [] : rows
  const isOurs = (key: string) => won === null || won.has(key)
  const claims = free.flatMap((row, at) =>
    isOurs(row[LEAD.key]) ? [claimOf(known, row, first![LEAD.fence], at < wanted.start)] : [],
  )
  return {
    claims,
    found: free.length,
    place: free.at(-1)?.[LEAD.place] ?? null,
    last: first![LEAD.last],
    told: first![LEAD.told],
  }
}

function claimOf(known: KnownDiscovery, row: readonly any[], fence: number, started: boolean): RowClaim {
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
