import { unnest } from '../server/sql.ts'
import { type Column, quoted } from './shape.ts'
import type { RowSource } from './source.ts'

/** The code of `gleaner.refuse`. */
export const REFUSED = 'GL001'

/**
 * Hands in rows that are done: proves each claim and ends it, then writes those that are as they were claimed and still
 * eligible, and sees that they are not any more: otherwise everything is undone, and each is tried alone.
 * Each key leads to its claim, which is locked and then ended where it was found, and to what the ledger remembers: a join might begin with the claims, of which the
 * planner mostly believes that there are none, and compare all that the session holds with all that it hands in. An entry that somebody changes
 * at the same moment stays, until the repair sees that its row is done.
 * $1 session, $2 keys, $3 fences, $4 … the values of each column, as texts.
 * Answers with the places (from 1) of what was ours, and with what of it was not written; NULL when all was.
 */
export function settleSql(source: RowSource, schema: string, columns: readonly Column[]): string {
  const { name, table } = source
  const values = columns.map((_, at) => `"gleaner:${at}"`)
  const unnested = ['$2::text[]', '$3::bigint[]', ...columns.map((_, at) => `$${at + 4}::text[]`)]
  return `WITH gleaner_me AS MATERIALIZED (
  SELECT id FROM ${schema}.sessions WHERE id = $1 AND ended_at IS NULL FOR KEY SHARE
), gleaner_ours AS MATERIALIZED (
  SELECT given.*, held.* FROM gleaner_me, ${unnest(unnested)} WITH ORDINALITY
    given(${['"gleaner:key"', '"gleaner:fence"', ...values, '"gleaner:n"'].join(', ')}),
  LATERAL (
    SELECT c.row_version AS "gleaner:version", c.row_hash AS "gleaner:hash", c.attempt AS "gleaner:attempt", c.ctid AS "gleaner:at",
           CASE WHEN (SELECT EXISTS (SELECT 1 FROM ${schema}.ledger WHERE discovery = ${name})) THEN (
             SELECT l.ctid FROM ${schema}.ledger l WHERE l.discovery = ${name} AND l.row_key = given."gleaner:key") END AS "gleaner:entry"
    FROM ${schema}.claims c
    WHERE c.discovery = ${name} AND c.row_key = given."gleaner:key" AND c.fence = given."gleaner:fence" AND c.session + 0 = $1
    FOR UPDATE
  ) held
), gleaner_ended AS (
  DELETE FROM ${schema}.claims WHERE ctid = ANY(ARRAY(SELECT "gleaner:at" FROM gleaner_ours))
), gleaner_written AS (
  UPDATE ${source.from} SET ${assignments(source, columns, values)} FROM gleaner_ours
  WHERE ${source.hasKey(table, 'gleaner_ours."gleaner:key"')}
    AND ${source.same(table, `${table}.xmin::text`, { version: '"gleaner:version"', hash: '"gleaner:hash"' })}
    AND ${source.eligible}
  RETURNING "gleaner:n", "gleaner:entry", ${source.eligible} AS "gleaner:still"
), gleaner_forgotten AS (
  DELETE FROM ${schema}.ledger WHERE ctid = ANY(ARRAY(SELECT "gleaner:entry" FROM gleaner_written))
), gleaner_useful AS (
  UPDATE ${schema}.sessions SET completed = 1 WHERE id = $1 AND completed = 0 AND EXISTS (SELECT 1 FROM gleaner_written)
), gleaner_sums AS MATERIALIZED (
  SELECT pg_catalog.count(*) AS written, coalesce(pg_catalog.bool_or("gleaner:still"), false) AS still FROM gleaner_written
)
SELECT CASE WHEN still THEN ${schema}.refuse('the row is still eligible') END,
       CASE WHEN written < pg_catalog.cardinality($2::text[]) THEN ARRAY(SELECT "gleaner:n"::int FROM gleaner_ours) END,
       CASE WHEN written < pg_catalog.cardinality($2::text[]) THEN (
         SELECT pg_catalog.json_agg(pg_catalog.json_build_array("gleaner:n", "gleaner:version", "gleaner:hash"::text, "gleaner:attempt"))
         FROM gleaner_ours WHERE "gleaner:n" NOT IN (SELECT w."gleaner:n" FROM gleaner_written w)) END
FROM gleaner_sums`
}

/** What sets nothing is written as it is, and then found to be eligible. */
function assignments(source: RowSource, columns: readonly Column[], values: readonly string[]): string {
  if (columns.length === 0) {
    const key = quoted(source.declared.key[0]!)
    return `${key} = ${source.table}.${key}`
  }
  return columns
    .map(({ name, type }, at) => `${quoted(name)} = gleaner_ours.${values[at]}::${type}`)
    .join(', ')
}
