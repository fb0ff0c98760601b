import { quoted } from './shape.ts'
import { literal, OWN, type RowSource, thenOf } from './source.ts'

/** Which rows a claim looks at. */
export type Look =
  /** In order: from the beginning, or behind a place. */
  | { at: 'beginning'; tells: boolean }
  | { at: 'place'; tells: boolean; place: string }
  /** Behind where the last large claim of anybody ended, should that be news; else behind the place. */
  | { at: 'front'; tells: boolean; place: string; heard: string | null }
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
  told: 5,
  key: 6,
  place: 7,
  attempt: 8,
  suspect: 9,
  user: 10,
}

/**
 * One statement looks at `$3` rows at most, takes the first `$4` that are free, and says how far it came.
 * $1 session, $2 the time or NULL, $5 how many are to be started at once, $6 the version of
 * the declarations, $7 discoveries whose suspects go first, $8 the suspects to avoid, or from how many on others are told, $9 the place,
 * $10 what was heard of others. Without a time in its answer it did not look: it is somebody else's turn, there are such suspects, all is
 * paused, or something was planned or altered.
 *
 * The transaction is sent at once (see `volley`): whoever waits for his turn waits for no longer than the server takes. Should
 * two claim at once all the same, the primary key decides.
 */
export function claimSql(source: RowSource, schema: string, at: Look['at']): string {
  const { name } = source
  const known = `coalesce(l.row_key IS NOT NULL AND ${source.same('s', `s.${OWN.xmin}`, thenOf('l'))}, false)`
  const alone = at === 'suspects'
  const keptBack = `l.quarantined OR l.blocked_until > gleaner_live.now OR l.suspect <> ${alone}`
  return `WITH gleaner_live AS MATERIALIZED (
  SELECT coalesce($2::bigint, ${schema}.now_ms()) AS now
  WHERE current_setting('${TURN}') = 'true'
    AND NOT EXISTS (SELECT 1 FROM ${schema}.discoveries WHERE discoveries.name = ${name} AND paused)
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
), ${isWalk(at) ? tell(source, schema) : ''}gleaner_sums AS MATERIALIZED (
  SELECT (SELECT count(*) FROM gleaner_free) AS found, (SELECT count(*) FROM gleaner_won) AS won
)
SELECT (SELECT value FROM gleaner_fence), gleaner_sums.found::int,
       CASE WHEN gleaner_sums.won <> gleaner_sums.found THEN ARRAY(SELECT row_key FROM gleaner_won) END, (SELECT now FROM gleaner_live),
       ${isWalk(at) ? `CASE WHEN gleaner_sums.found < $4 THEN (${lastLookedAt(source, schema, at)}) END` : 'NULL'},
       ${isWalk(at) ? `coalesce((SELECT position FROM gleaner_told), ${told(source, schema)})` : 'NULL'},
       n.${OWN.key}, ${source.place('n')}, n."gleaner:attempts" + 1, n."gleaner:suspect", ${userColumns(source, 'n')}
FROM gleaner_sums LEFT JOIN gleaner_numbered n ON true`
}

/** So that others do not walk over what we hold. A hint: wherever a look begins, it goes round. */
function tell(source: RowSource, schema: string): string {
  return `gleaner_told AS (
  UPDATE ${schema}.discoveries SET position = last.place
  FROM (SELECT ${source.place('n')} AS place FROM gleaner_numbered n WHERE "gleaner:n" >= $8::int ORDER BY "gleaner:n" DESC LIMIT 1) last
  WHERE discoveries.name = ${source.name} RETURNING position
), `
}

function told({ name }: RowSource, schema: string): string {
  return `(SELECT position FROM ${schema}.discoveries WHERE discoveries.name = ${name})`
}

/** Whether it is our turn; for the rest of the transaction. */
const TURN = 'gleaner_rows.turn'

/**
 * In the transaction of a claim, and before it: one claims from a discovery at a time. Two at once would find the same rows, and the second would
 * wait for the first only to lose them all. A statement sees the rows as they were when it began, so it is our turn before the
 * claim begins: whatever others took before is seen, and nobody takes, does and lets go of a row between its look and its insert.
 * Who rides along with what is handed in does not wait for it, because others may wait for the rows that he has written.
 */
export function turnSql({ declared }: RowSource, schema: string, waits: boolean): string {
  const key = `hashtextextended(${literal(`${schema} claims ${declared.name}`)}, 0)`
  return waits
    ? `SELECT set_config('${TURN}', 'true', true) FROM pg_advisory_xact_lock(${key})`
    : `SELECT set_config('${TURN}', pg_try_advisory_xact_lock(${key})::text, true)`
}

/** One of the discovery `n.name` that waits to be run alone. */
export function waitingSuspect(schema: string, now = `coalesce($2::bigint, ${schema}.now_ms())`): string {
  return `SELECT 1 FROM ${schema}.ledger l
    WHERE l.discovery = n.name AND NOT l.quarantined AND l.suspect AND l.blocked_until <= ${now} AND NOT EXISTS (
      SELECT 1 FROM ${schema}.claims c WHERE c.discovery = l.discovery AND c.row_key = l.row_key) LIMIT 1`
}

function isWalk(at: Look['at']): boolean {
  return at === 'beginning' || at === 'place' || at === 'front'
}

export function userColumns({ columns }: RowSource, of: string): string {
  return columns.map(({ name }) => `${of}.${quoted(name)}`).join(', ')
}

function candidates(source: RowSource, schema: string, at: Look['at']): string {
  if (isWalk(at)) return `${selected(source)} ${walk(source, schema, at)} LIMIT $3`
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

function walk(source: RowSource, schema: string, at: Look['at']): string {
  const place = at === 'front' ? `coalesce(nullif(${told(source, schema)}, $10::text), $9::text)` : '$9::text'
  const conditions = [
    ...(source.way === 'index' ? [source.eligible] : []),
    ...(at === 'beginning' ? [] : [source.behind(source.table, place)]),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `FROM ${source.from} ${where} ORDER BY ${source.order}`
}

/** NULL: it came to the end. */
function lastLookedAt(source: RowSource, schema: string, at: Look['at']): string {
  return `SELECT ${source.place(source.table)} ${walk(source, schema, at)} OFFSET $3 - 1 LIMIT 1`
}
