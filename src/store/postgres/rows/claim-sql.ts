import { quoted } from './shape.ts'
import { OWN, type RowSource, thenOf } from './source.ts'

/** Which rows a claim looks at. */
export type Look =
  /** In order, from the beginning or behind a place. */
  | { at: 'beginning' }
  | { at: 'place'; place: string }
  /** What the ledger keeps back no longer. */
  | { at: 'due' }
  /** What is to be run alone. */
  | { at: 'suspects'; but: readonly string[] }

/** The columns of an answer before the user's own. */
export const LEAD = {
  fence: 0,
  found: 1,
  won: 2,
  now: 3,
  last: 4,
  key: 5,
  place: 6,
  attempt: 7,
  suspect: 8,
  user: 9,
}

/**
 * One statement looks at `$3` rows at most, takes the first `$4` that are free, and says how far it came.
 * $1 session, $2 the time or NULL, $5 how many are to be started at once, $6 the version of
 * the declarations, $7 discoveries whose suspects go first, $8 the place, or the suspects to avoid. Without a time in its answer it did not look: there are
 * such suspects, all is paused, or something was planned or altered.
 *
 * The rows that others have just claimed are found out by the primary key: with those a race was lost. A claim never
 * waits inside a transaction of ours (see `volley`), so whoever meets it waits for no longer than the server takes.
 */
export function claimSql(source: RowSource, schema: string, at: Look['at']): string {
  const { name } = source
  const known = `coalesce(l.row_key IS NOT NULL AND ${source.same('s', `s.${OWN.xmin}`, thenOf('l'))}, false)`
  const alone = at === 'suspects'
  const keptBack = `l.quarantined OR l.blocked_until > gleaner_live.now OR l.suspect <> ${alone}`
  return `WITH gleaner_live AS MATERIALIZED (
  SELECT coalesce($2::bigint, ${schema}.now_ms()) AS now
  WHERE NOT EXISTS (SELECT 1 FROM ${schema}.discoveries WHERE discoveries.name = ${name} AND paused)
    AND NOT EXISTS (SELECT 1 FROM ${schema}.settings WHERE key = 'paused' AND value <> 0)
    AND (SELECT value FROM ${schema}.settings WHERE key = 'discoveries') = $6::bigint AND ${source.unchanged}
    AND NOT EXISTS (SELECT 1 FROM unnest($7::text[]) n(name), LATERAL (${waitingSuspect(schema)}) suspect)
), gleaner_free AS MATERIALIZED (
  SELECT s.*, CASE WHEN ${known} THEN l.attempts ELSE 0 END AS "gleaner:attempts",
         ${known} AND l.suspect AS "gleaner:suspect"
  FROM gleaner_live CROSS JOIN LATERAL (${candidates(source, schema, at)}) s
  LEFT JOIN LATERAL (
    SELECT * FROM ${schema}.ledger WHERE discovery = ${name} AND row_key = s.${OWN.key} OFFSET 0
  ) l ON true
  WHERE (SELECT 1 FROM ${schema}.claims c WHERE c.discovery = ${name} AND c.row_key = s.${OWN.key}) IS NULL
    AND ${alone ? `${known} AND NOT (${keptBack})` : `NOT (${known} AND (${keptBack}))`}
    ${source.way === 'window' && isWalk(at) ? `AND s.${OWN.eligible}` : ''}
  LIMIT $4
), gleaner_numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS "gleaner:n" FROM gleaner_free
), gleaner_me AS MATERIALIZED (
  -- Whoever wants to end the session waits for our commit, and then finds what we claimed under it.
  SELECT id FROM ${schema}.sessions WHERE id = $1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM gleaner_free) FOR KEY SHARE
), gleaner_fence AS MATERIALIZED (SELECT nextval('${schema}.fence') AS value FROM gleaner_me
), gleaner_won AS (
  INSERT INTO ${schema}.claims (discovery, row_key, session, fence, row_version, row_hash, attempt, claimed_at, started_at)
  SELECT ${name}, n.${OWN.key}, $1, gleaner_fence.value, ${source.version('n', `n.${OWN.xmin}`)}, ${source.hash('n')},
         n."gleaner:attempts" + 1, gleaner_live.now, CASE WHEN n."gleaner:n" <= $5 THEN gleaner_live.now END
  FROM gleaner_numbered n, gleaner_fence, gleaner_live
  ON CONFLICT DO NOTHING RETURNING row_key
), gleaner_sums AS MATERIALIZED (
  SELECT (SELECT count(*) FROM gleaner_free) AS found, (SELECT count(*) FROM gleaner_won) AS won
)
SELECT (SELECT value FROM gleaner_fence), gleaner_sums.found::int,
       CASE WHEN gleaner_sums.won <> gleaner_sums.found THEN ARRAY(SELECT row_key FROM gleaner_won) END, (SELECT now FROM gleaner_live),
       ${isWalk(at) ? `CASE WHEN gleaner_sums.found < $4 THEN (${lastLookedAt(source, at)}) END` : 'NULL'},
       n.${OWN.key}, ${source.place('n')}, n."gleaner:attempts" + 1, n."gleaner:suspect", ${userColumns(source, 'n')}
FROM gleaner_sums LEFT JOIN gleaner_numbered n ON true`
}

/**
 * After a claim, in the same transaction: gives up what is not as it was claimed, and says what. The claim saw the rows as they
 * were when it began: somebody else may have claimed one of them since, done it, and be through with it.
 * $1 session.
 */
export function verifySql(source: RowSource, schema: string): string {
  const { name, table } = source
  return `DELETE FROM ${schema}.claims c
WHERE c.session = $1 AND c.discovery = ${name} AND c.xmin = pg_current_xact_id_if_assigned()::xid AND NOT EXISTS (
  SELECT 1 FROM ${source.from} WHERE ${source.hasKey(table, 'c.row_key')}
    AND ${source.same(table, `${table}.xmin::text`, thenOf('c'))} AND ${source.eligible})
RETURNING c.row_key`
}

/** One of the discovery `n.name` that waits to be run alone. */
export function waitingSuspect(schema: string, now = `coalesce($2::bigint, ${schema}.now_ms())`): string {
  return `SELECT 1 FROM ${schema}.ledger l
    WHERE l.discovery = n.name AND NOT l.quarantined AND l.suspect AND l.blocked_until <= ${now} AND NOT EXISTS (
      SELECT 1 FROM ${schema}.claims c WHERE c.discovery = l.discovery AND c.row_key = l.row_key) LIMIT 1`
}

function isWalk(at: Look['at']): boolean {
  return at === 'beginning' || at === 'place'
}

export function userColumns({ columns }: RowSource, of: string): string {
  return columns.map(({ name }) => `${of}.${quoted(name)}`).join(', ')
}

function candidates(source: RowSource, schema: string, at: Look['at']): string {
  if (isWalk(at)) return `${selected(source)} ${walk(source, at)} LIMIT $3`
  const due = at === 'due' ? 'NOT quarantined AND NOT suspect' : 'suspect AND row_key <> ALL($8::text[])'
  return `SELECT t.* FROM (
    SELECT row_key FROM ${schema}.ledger WHERE discovery = ${source.name} AND ${due} AND blocked_until <= gleaner_live.now
    ORDER BY ${at === 'due' ? 'blocked_until' : 'row_key'} LIMIT $3
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

function walk(source: RowSource, at: Look['at']): string {
  const conditions = [
    ...(source.way === 'index' ? [source.eligible] : []),
    ...(at === 'place' ? [source.behind(source.table, '$8::text')] : []),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `FROM ${source.from} ${where} ORDER BY ${source.order}`
}

/** NULL: it came to the end. */
function lastLookedAt(source: RowSource, at: Look['at']): string {
  return `SELECT ${source.place(source.table)} ${walk(source, at)} OFFSET $3 - 1 LIMIT 1`
}
