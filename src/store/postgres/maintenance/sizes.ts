import type { AppliedMigration } from '../../ports/maintenance.ts'
import type { Sql } from '../server/sql.ts'

/** Our tables with their indexes. The write-ahead log is the whole server's, and not everybody may look at it. */
export async function sizes(sql: Sql): Promise<{ databaseBytes: number; walBytes: number | null }> {
  const row = await sql.row<{ bytes: number }>(
    `SELECT coalesce(pg_catalog.sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'`,
    [sql.schema],
  )
  const mayLook = await sql.row<{ yes: boolean }>(
    `SELECT pg_catalog.has_function_privilege('pg_catalog.pg_ls_waldir()', 'execute') AS yes`,
    [],
  )
  const wal = mayLook?.yes
    ? await sql.row<{ bytes: number }>(
        'SELECT coalesce(pg_catalog.sum(size), 0)::bigint AS bytes FROM pg_catalog.pg_ls_waldir()',
        [],
      )
    : undefined
  return { databaseBytes: Number(row?.bytes ?? 0), walBytes: wal === undefined ? null : Number(wal.bytes) }
}

export function appliedMigrations(sql: Sql): Promise<AppliedMigration[]> {
  return sql.rows(
    `SELECT version, name, (extract(epoch FROM applied_at) * 1000)::bigint AS "appliedAt"
     FROM gleaner.migrations ORDER BY version`,
  )
}
