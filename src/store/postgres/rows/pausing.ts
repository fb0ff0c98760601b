import type { Sql } from '../server/sql.ts'

/** False: it was paused already. */
export async function pauseDiscovery(sql: Sql, name: string, reason: string): Promise<boolean> {
  const changed = await sql.run(
    'UPDATE gleaner.discoveries SET paused = true, paused_reason = $2 WHERE name = $1 AND NOT paused',
    [name, reason],
  )
  return changed > 0
}
