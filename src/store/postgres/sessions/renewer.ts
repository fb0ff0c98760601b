import type { Renewer } from '../../contract.ts'
import type { Database } from '../server/database.ts'
import type { PostgresOptions } from '../server/options.ts'
import type { Sql } from '../server/sql.ts'

/**
 * Renews sessions on a connection of its own, in a thread of its own. The driver is loaded when the first of them is due, a third of
 * a lease after the worker's start, where every millisecond counts.
 */
export function openPostgresRenewer(options: PostgresOptions): Renewer {
  let opening: Promise<Database> | undefined
  const open = async () => {
    const { Database } = await import('../server/database.ts')
    return new Database({ ...options, poolSize: 1 })
  }
  return {
    async renew(sessions) {
      opening ??= open().catch((error) => {
        opening = undefined
        throw error
      })
      return renewSessions((await opening).sql, sessions)
    },
    async close() {
      const database = await opening
      await database?.close()
    },
  }
}

async function renewSessions(sql: Sql, sessions: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ id: string }>(
    `UPDATE gleaner.sessions SET renewals = renewals + 1, renewed_at = gleaner.now_ms()
     WHERE id = ANY($1::bigint[]) AND ended_at IS NULL RETURNING id::text AS id`,
    [sessions],
  )
  return rows.map((row) => row.id)
}
