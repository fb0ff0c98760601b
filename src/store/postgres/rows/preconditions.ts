import { UNTIL_RESUMED } from '../../../model/ledger.ts'
import type { Statement } from '../server/database.ts'
import { CLAIM_SETTING } from './claim-settings.ts'
import type { ScanStart } from './claim-sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { isKept, isSuspect } from './ledger-sql.ts'
import { turnKey } from './turn.ts'

/** What an exchange has to know, asked together with whatever else it asks. Locks no row. */
export interface RowPreconditions {
  live: boolean
  now: number
  everythingPaused: boolean
  paused: readonly string[]
  /** The time of some entry of the ledger has come. What then is due, or suspect, only a thorough outlook says. */
  ripe: boolean
  /** The ledger lets go of some. */
  due: boolean
  /** When it lets go of the next one; null: it keeps none. */
  nextAt: number | null
  /** Some wait to be run alone. */
  suspects: boolean
  /** Where the last large claim of anybody ended, from what is to be claimed. */
  position: string | null
  /**
   * The claim that follows it looks. If not: it is somebody else's turn, something is paused, planned anew or altered, or the
   * server has lost something.
   */
  turn: boolean
  /** Of the server; null: it has lost something, and no new one has begun. */
  life: number | null
}

/** A `glance` sees only whether the time of some entry has come. Mostly it has not, and then there is nothing else to know. */
export type Depth = 'glance' | 'thorough'

/** A claim that follows in the same transaction. */
export interface IntendedClaim {
  known: KnownDiscovery
  look: ScanStart
  /** Not while suspects wait. */
  suspectsFirst: boolean
  /** Only in the life of the server in which what the session holds was compared. */
  life: number | null
}

/** Statements that go with what is handed in, and what their answers say. */
export interface FirstBatch {
  depth: Depth
  statements: readonly Statement[]
  take(answers: readonly any[][][]): RowPreconditions
}

/** For who wants nothing: whether it is still alive. */
export function liveness(schema: string, session: string): FirstBatch {
  const text = `SELECT ended_at IS NULL FROM "${schema}".sessions WHERE id = $1`
  return {
    depth: 'thorough',
    statements: [{ text, values: [session] }],
    take: ([rows]) => ({ ...NO_SESSION, live: rows![0]?.[0] === true }),
  }
}

/** By schema and depth. */
const texts = new Map<string, string>()

/** Of these discoveries. */
export function preconditions(
  schema: string,
  {
    session,
    discoveries,
    clockMs,
  }: { session: string; discoveries: readonly string[]; clockMs: number | null },
  intent: IntendedClaim | null,
  depth: Depth = 'thorough',
): Statement {
  const text = texts.get(`${schema} ${depth}`) ?? textFor(`"${schema}"`, LEDGER[depth](`"${schema}"`))
  texts.set(`${schema} ${depth}`, text)
  return { text, values: [session, discoveries, clockMs, ...valuesOf(intent)] }
}

function valuesOf(intent: IntendedClaim | null): unknown[] {
  if (intent === null) return [null, null, null, null, null, null, null, null, null]
  const { known, look, suspectsFirst, life } = intent
  const { oid, attributes } = known.source
  const [place, follows, heard] =
    look.at === 'behind' ? [look.place, look.heard !== undefined, look.heard] : [null, false, null]
  return [known.name, known.version, oid, attributes, suspectsFirst, place, follows, heard, life]
}

const nowOf = (schema: string) => `coalesce($3::bigint, ${schema}.now_ms()) AS now`

const DISCOVERIES = 'pg_catalog.unnest($2::text[]) n(name)'

/** The time of the first entry that is kept, of all discoveries. */
const first = (schema: string) => `SELECT pg_catalog.min(NULLIF((
      SELECT l.blocked_until FROM ${schema}.ledger l WHERE ${isKept('l', 'n.name')} ORDER BY l.blocked_until LIMIT 1),
      ${UNTIL_RESUMED})) AS first`

/** How time and ledger are asked, what that says (what is due, when the next one will be, whether suspects wait), and whether suspects may come first. */
interface LedgerSql {
  columns: string
  from: string
  says: string
  suspects: string
}

const LEDGER: Record<Depth, (schema: string) => LedgerSql> = {
  glance: (schema) => ({
    columns: `${nowOf(schema)}, (${first(schema)} FROM ${DISCOVERIES})`,
    from: '',
    says: 'false, first, false',
    suspects: 'coalesce(first <= now, false)',
  }),
  thorough: (schema) => ({
    columns: 'moment.now, kept.*',
    from: `, (SELECT ${nowOf(schema)}) moment, LATERAL (
    ${first(schema)},
      coalesce(pg_catalog.bool_or(EXISTS (
        SELECT 1 FROM ${schema}.ledger l WHERE ${isKept('l', 'n.name')} AND NOT l.suspect AND l.blocked_until <= moment.now)), false) AS due,
      pg_catalog.min(NULLIF((SELECT l.blocked_until FROM ${schema}.ledger l WHERE ${isKept('l', 'n.name')} AND l.blocked_until > moment.now
        ORDER BY l.blocked_until LIMIT 1), ${UNTIL_RESUMED})) AS next_at,
      coalesce(pg_catalog.bool_or(EXISTS (
        SELECT 1 FROM ${schema}.ledger l WHERE ${isSuspect('l', 'n.name', 'moment.now')}
          AND (SELECT 1 FROM ${schema}.claims c WHERE c.discovery = l.discovery AND c.row_key = l.row_key) IS NULL)), false) AS suspects
    FROM ${DISCOVERIES}
  ) kept`,
    says: 'due, next_at, suspects',
    suspects: 'suspects',
  }),
}

/**
 * $1 session, $2 the discoveries, $3 the time or NULL; of what is to be claimed: $4 its name, $5 the version of the declarations, $6 and $7
 * its table, $8 whether suspects go first, $9 the place, $10 whether to follow others and $11 what was heard of them, $12 the life of the server.
 */
function textFor(schema: string, ledger: LedgerSql): string {
  const mine = '$4::text'
  const isOpen = `live AND NOT everything AND ${mine} <> ALL(paused) AND version = $5::bigint AND life = $12::bigint AND NOT ($8::boolean AND ${ledger.suspects})
    AND EXISTS (SELECT 1 FROM pg_class WHERE oid = $6::int8::oid AND relnatts = $7::int)`
  return `SELECT live, now, everything, paused, coalesce(first <= now, false), ${ledger.says}, position, life,
  pg_catalog.set_config('${CLAIM_SETTING.turn}', CASE WHEN ${isOpen} AND pg_catalog.pg_try_advisory_xact_lock(${turnKey(schema, mine)}) THEN now::text ELSE '' END, true) <> '',
  pg_catalog.set_config('${CLAIM_SETTING.place}', coalesce(CASE WHEN $10::boolean THEN nullif(position, $11::text) END, $9::text, ''), true)
FROM (
  SELECT s.ended_at IS NULL AS live, ${ledger.columns},
    (SELECT value <> 0 FROM ${schema}.settings WHERE key = 'paused') AS everything,
    (SELECT value FROM ${schema}.settings WHERE key = 'discoveries') AS version,
    (SELECT life FROM ${schema}.server_life) AS life,
    ARRAY(SELECT name FROM ${schema}.discoveries WHERE paused) AS paused,
    (SELECT position FROM ${schema}.discoveries WHERE name = ${mine}) AS position
  FROM ${schema}.sessions s${ledger.from}
  WHERE s.id = $1 OFFSET 0
) seen`
}

const NO_SESSION: RowPreconditions = {
  live: false,
  now: 0,
  everythingPaused: false,
  paused: [],
  ripe: false,
  due: false,
  nextAt: null,
  suspects: false,
  position: null,
  turn: false,
  life: null,
}

export function rowPreconditionsOf([row]: readonly any[][]): RowPreconditions {
  if (row === undefined) return NO_SESSION
  const [live, now, everythingPaused, paused, ripe, due, nextAt, suspects, position, life, turn] = row
  return { live, now, everythingPaused, paused, ripe, due, nextAt, suspects, position, life, turn }
}
