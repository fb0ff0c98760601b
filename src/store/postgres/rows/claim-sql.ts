import { CLAIM_SETTING } from './claim-settings.ts'
import { isKept, isSuspect } from './ledger-sql.ts'
import { quoted } from './shape.ts'
import { OWN, type RowSource, thenOf } from './source.ts'

/** Which rows a claim looks at. */
export type ScanStart =
  /** In order: from the beginning, or behind a place. */
  | { at: 'beginning'; tells: boolean }
  /** `heard`: what was last heard of where others are. Should that be news, behind where they are now; absent: wherever they are. */
  | { at: 'behind'; tells: boolean; place: string; heard?: string | null | undefined }
  /** What the ledger keeps back no longer. */
  | { at: 'due' }
  /** What is to be run alone. */
  | { at: 'suspects'; but: readonly string[] }

/** The columns of an answer before the user's own. */
export const LEAD = { fence: 0, won: 1, last: 2, told: 3, key: 4, place: 5, attempt: 6, suspect: 7, user: 8 }

/** Claimed together: so many are worth telling others where they end. */
export const TOLD_MIN = 50

const NOW = `nullif(pg_catalog.current_setting('${CLAIM_SETTING.turn}'), '')::bigint`

/**
 * One statement looks at `$2` rows at most, takes the first `$3` that are free, and says how far it came.
 * $1 session, $4 how many are to be started at once, $5 the suspects to avoid. It looks if the outlook before it has said so, behind the place that
 * it has said. The server spends more on making such a statement ready than on running it: what is not needed is left out.
 *
 * The transaction is sent at once (see `batch`), so the next claim waits only for as long as the server takes. If two claim at once all the
 * same, the primary key decides.
 */
export function claimSql(source: RowSource, schema: string, at: ScanStart['at'], tells: boolean): string {
  const { name } = source
  const alone = at === 'suspects'
  return `WITH gleaner_free AS MATERIALIZED (
  SELECT s.*, coalesce(l.attempts, 0) + 1 AS "gleaner:attempt", coalesce(l.suspect, false) AS "gleaner:suspect",
         pg_catalog.row_number() OVER () AS "gleaner:n"
  FROM (${candidates(source, schema, at)}) s LEFT JOIN LATERAL (
    SELECT l.attempts, l.suspect, l.quarantined OR l.blocked_until > ${NOW} OR l.suspect <> ${alone} AS kept_back
    FROM ${schema}.ledger l
    WHERE l.discovery = ${name} AND l.row_key = s.${OWN.key} AND ${source.same('s', `s.${OWN.xmin}`, thenOf('l'))} OFFSET 0
  ) l ON true
  WHERE pg_catalog.current_setting('${CLAIM_SETTING.turn}') <> '' AND ${alone ? 'NOT l.kept_back' : 'l.kept_back IS NOT TRUE'}
    AND (SELECT 1 FROM ${schema}.claims c WHERE c.discovery = ${name} AND c.row_key = s.${OWN.key}) IS NULL
    ${source.way === 'window' && isWalk(at) ? `AND s.${OWN.eligible}` : ''}
  LIMIT $3
), gleaner_me AS MATERIALIZED (
  -- Whoever wants to end the session waits for our commit, and then finds what we claimed under it.
  SELECT pg_catalog.nextval('${schema}.fence') AS fence FROM ${schema}.sessions
  WHERE id = $1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM gleaner_free) FOR KEY SHARE
), gleaner_won AS (
  INSERT INTO ${schema}.claims (discovery, row_key, session, fence, row_version, row_hash, attempt, claimed_at, started_at)
  SELECT ${name}, n.${OWN.key}, $1, gleaner_me.fence, ${source.version('n', `n.${OWN.xmin}`)}, ${source.hash('n')},
         n."gleaner:attempt", ${NOW}, CASE WHEN n."gleaner:n" <= $4 THEN ${NOW} END
  FROM gleaner_free n, gleaner_me
  ON CONFLICT DO NOTHING RETURNING row_key
)${tells ? tell(source, schema) : ''}
SELECT (SELECT fence FROM gleaner_me), CASE WHEN sums.won <> sums.found THEN ARRAY(SELECT row_key FROM gleaner_won) END,
       ${isWalk(at) ? `CASE WHEN sums.found < $3 THEN (${lastLookedAt(source, at)}) END` : 'NULL'},
       ${tells ? '(SELECT position FROM gleaner_told)' : 'NULL'},
       n.${OWN.key}, ${source.place('n')}, n."gleaner:attempt", n."gleaner:suspect", ${userColumns(source, 'n')}
FROM (SELECT (SELECT pg_catalog.count(*) FROM gleaner_free) AS found, (SELECT pg_catalog.count(*) FROM gleaner_won) AS won OFFSET 0) sums
LEFT JOIN gleaner_free n ON true`
}

/** So that others do not walk over what we hold. A hint: wherever a look begins, it goes round. */
function tell(source: RowSource, schema: string): string {
  return `, gleaner_told AS (
  UPDATE ${schema}.discoveries SET position = last.place
  FROM (SELECT ${source.place('n')} AS place FROM gleaner_free n WHERE "gleaner:n" >= ${TOLD_MIN} ORDER BY "gleaner:n" DESC LIMIT 1) last
  WHERE discoveries.name = ${source.name} RETURNING position
)`
}

function isWalk(at: ScanStart['at']): boolean {
  return at === 'beginning' || at === 'behind'
}

export function userColumns({ columns }: RowSource, of: string): string {
  return columns.map(({ name }) => `${of}.${quoted(name)}`).join(', ')
}

function candidates(source: RowSource, schema: string, at: ScanStart['at']): string {
  if (isWalk(at)) return `${selected(source)} ${walk(source, at)} LIMIT $2`
  const which =
    at === 'due'
      ? `${isKept('l', source.name)} AND NOT l.suspect AND l.blocked_until <= ${NOW}`
      : `${isSuspect('l', source.name, NOW)} AND l.row_key <> ALL($5::text[])`
  return `SELECT t.* FROM (
    SELECT l.row_key FROM ${schema}.ledger l WHERE ${which}
    ORDER BY ${at === 'due' ? 'l.blocked_until' : 'l.row_key'} LIMIT $2
  ) d CROSS JOIN LATERAL (
    ${selected(source)} FROM ${source.from} WHERE ${source.hasKey(source.table, 'd.row_key')} AND ${source.eligible} OFFSET 0
  ) t`
}

function selected(source: RowSource): string {
  const { table } = source
  const eligible = source.way === 'window' ? `, ${source.eligible} AS ${OWN.eligible}` : ''
  return `SELECT ${userColumns(source, table)}, ${source.keyText(table)} AS ${OWN.key},
    ${table}.xmin::text AS ${OWN.xmin}${eligible}`
}

function walk(source: RowSource, at: ScanStart['at']): string {
  const conditions = [
    ...(source.way === 'index' ? [source.eligible] : []),
    ...(at === 'beginning'
      ? []
      : [source.behind(source.table, `pg_catalog.current_setting('${CLAIM_SETTING.place}')`)]),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `FROM ${source.from} ${where} ORDER BY ${source.order}`
}

/** NULL: it came to the end. */
function lastLookedAt(source: RowSource, at: ScanStart['at']): string {
  return `SELECT ${source.place(source.table)} ${walk(source, at)} OFFSET $2 - 1 LIMIT 1`
}
