import type { Sql } from '../server/sql.ts'

export async function readWaits(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.rows<{ discovery: string; since: number }>(
    'SELECT discovery, since FROM gleaner.row_waits',
  )
  return new Map(rows.map(({ discovery, since }) => [discovery, since]))
}

/** Inside a transaction. */
export async function noteWaits(
  sql: Sql,
  waiting: readonly string[],
  now: number,
): Promise<Map<string, number>> {
  await sql.run('DELETE FROM gleaner.row_waits WHERE discovery <> ALL ($1::text[])', [waiting])
  await sql.run(
    'INSERT INTO gleaner.row_waits SELECT name, $2 FROM pg_catalog.unnest($1::text[]) name ON CONFLICT DO NOTHING',
    [waiting, now],
  )
  return readWaits(sql)
}
