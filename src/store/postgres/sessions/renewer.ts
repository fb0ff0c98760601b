import type { PostgresOptions } from '../../ports/database.ts'
import type { Renewer } from '../../ports/renewal.ts'
import { renewSessions } from '../../scripts/renewing.ts'
import type { Database } from '../server/database.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'

/** A busy server may take that long. */
const LIMIT_MIN_MS = 4_000
/** The server's clock decides. */
const DIALECT = postgresDialect(() => null)

/**
 * Renews sessions on a connection of its own, in a thread of its own. The driver is loaded when the first of them is due, a third of
 * a lease after the worker's start, where every millisecond counts.
 */
export function openPostgresRenewer(options: PostgresOptions, leaseMs: number): Renewer {
  let opening: Promise<Database> | undefined
  const open = async () => {
    const { Database } = await import('../server/database.ts')
    // A lease lasts for three renewals: a dead connection must not cost two of them.
    const limitMs = Math.max(LIMIT_MIN_MS, leaseMs / 3)
    return new Database({
      ...options,
      poolSize: 1,
      queryTimeoutMs: Math.min(options.queryTimeoutMs ?? limitMs, limitMs),
      connectTimeoutMs: Math.min(options.connectTimeoutMs ?? limitMs, limitMs),
    })
  }
  return {
    async renew(sessions) {
      opening ??= open().catch((error) => {
        opening = undefined
        throw error
      })
      return driveOn((await opening).sql, renewSessions(DIALECT, sessions, leaseMs))
    },
    async close() {
      const database = await opening
      await database?.close()
    },
  }
}
