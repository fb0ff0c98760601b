import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import { quoted, type Shape } from './shape.ts'
import { literal } from './source.ts'
import type { ValidatedSource } from './validated-source.ts'

/** One for a table, whatever discoveries it has: it knows no condition that could become another. */
export function wakeTrigger({ schema: own }: Sql, { schema, table }: Shape): string {
  return (
    `CREATE TRIGGER ${quoted(`${own}_rows_written`)} AFTER INSERT OR UPDATE ON ${quoted(schema)}.${quoted(table)} ` +
    `FOR EACH STATEMENT EXECUTE FUNCTION ${quoted(own)}.rows_written(${literal(own)});`
  )
}

export async function hasWakeTrigger(sql: Sql, { oid }: Shape): Promise<boolean> {
  const found = await sql.row(
    `SELECT 1 FROM pg_trigger WHERE tgrelid = $1::int8::oid AND tgfoid = 'gleaner.rows_written'::regproc AND tgenabled <> 'D'`,
    [oid],
  )
  return found !== undefined
}

/** Where it is missing. Two processes that open at the same time wait for each other, and the second finds it done. */
export async function addWakeTriggers(database: Database, plans: readonly ValidatedSource[]): Promise<void> {
  for (const { shape } of plans.filter(({ tells }) => !tells)) {
    await database.transaction(async (sql) => {
      await sql.run('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))', [
        `gleaner trigger ${sql.schema}`,
      ])
      if (await hasWakeTrigger(sql, shape)) return
      // Not by `sql.run`, which would read the user's words for ours.
      await sql.raw.query(wakeTrigger(sql, shape))
    })
  }
}
