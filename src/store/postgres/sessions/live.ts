import { LIFE } from '../server/server-life.ts'
import type { Sql } from '../server/sql.ts'

/** Whatever the server's default is: the id of a session that is forgotten would be given to another worker. */
export async function commitDurably(sql: Sql): Promise<void> {
  await sql.run(`SELECT pg_catalog.set_config('synchronous_commit', 'on', true)`)
}

/** The life of the server that this transaction is in. */
export async function lifeNow(sql: Sql): Promise<number | null> {
  return (await sql.row<{ life: number | null }>(`SELECT ${LIFE} AS life`))!.life
}

/**
 * Whether the session lives, the server's time, and whether there are limits. The lock makes whoever wants to end it wait for our commit: he
 * then finds what we claimed under it. It does not hold up the keeper, which changes no key.
 */
export async function liveUntilCommit(
  sql: Sql,
  session: string,
): Promise<{ live: boolean; now: number; limited: boolean }> {
  const row = await sql.row<{ live: boolean; now: number; limited: boolean }>(
    `SELECT ended_at IS NULL AS live, gleaner.now_ms() AS now,
            EXISTS (SELECT 1 FROM gleaner.settings WHERE key IN ('limits', 'keyed') AND value > 0) AS limited
     FROM gleaner.sessions WHERE id = $1 FOR KEY SHARE`,
    [session],
  )
  return row ?? { live: false, now: 0, limited: false }
}

/** It finished something: whatever it crashes on later, it does not crash on everything. */
export async function markUseful(sql: Sql, session: string): Promise<void> {
  await sql.run('UPDATE gleaner.sessions SET completed = 1 WHERE id = $1 AND completed = 0', [session])
}
