import type { Sql } from './sql.ts'

/** Our tables with their indexes; the write-ahead log is the whole server's. */
export async function sizes(sql: Sql): Promise<{ databaseBytes: number; walBytes: number | null }> {
  const row = await sql.row<{ bytes: number }>(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [sql.schema],
  )
  return { databaseBytes: Number(row?.bytes ?? 0), walBytes: null }
}
