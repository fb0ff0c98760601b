import type { Statement } from '../server/database.ts'
import { waitingSuspect } from './claim-sql.ts'

/** What an exchange has to know, asked together with whatever else it asks. Locks nothing. */
export interface Outlook {
  live: boolean
  now: number
  everythingPaused: boolean
  paused: readonly string[]
  /** The ledger lets go of some. */
  due: boolean
  /** When it lets go of the next one; null: it keeps none. */
  nextAt: number | null
  /** Some wait to be run alone. */
  suspects: boolean
}

/** By schema. */
const texts = new Map<string, string>()

/** Of these discoveries. */
export function outlook(
  schema: string,
  session: string,
  discoveries: readonly string[],
  clockMs: number | null,
): Statement {
  const text = texts.get(schema) ?? textFor(`"${schema}"`)
  texts.set(schema, text)
  return { text, values: [session, discoveries, clockMs] }
}

function textFor(gleaner: string): string {
  const kept = `FROM ${gleaner}.ledger l WHERE l.discovery = n.name AND NOT l.quarantined`
  return `SELECT s.live, moment.now,
       (SELECT value <> 0 FROM ${gleaner}.settings WHERE key = 'paused'),
       ARRAY(SELECT d.name FROM ${gleaner}.discoveries d WHERE d.paused),
       EXISTS (SELECT 1 FROM unnest($2::text[]) n(name), LATERAL (
         SELECT 1 ${kept} AND NOT l.suspect AND l.blocked_until <= moment.now LIMIT 1) any_of_it),
       (SELECT min(next.blocked_until) FROM unnest($2::text[]) n(name), LATERAL (
         SELECT l.blocked_until ${kept} AND l.blocked_until > moment.now ORDER BY l.blocked_until LIMIT 1) next),
       EXISTS (SELECT 1 FROM unnest($2::text[]) n(name), LATERAL (${waitingSuspect(gleaner, 'moment.now')}) suspect)
     FROM (SELECT coalesce($3::bigint, ${gleaner}.now_ms()) AS now) moment,
          (SELECT ended_at IS NULL AS live FROM ${gleaner}.sessions WHERE id = $1) s`
}

const NO_SESSION: Outlook = {
  live: false,
  now: 0,
  everythingPaused: false,
  paused: [],
  due: false,
  nextAt: null,
  suspects: false,
}

export function readOutlook([row]: readonly any[][]): Outlook {
  if (row === undefined) return NO_SESSION
  const [live, now, everythingPaused, paused, due, nextAt, suspects] = row
  return { live, now, everythingPaused, paused, due, nextAt, suspects }
}
