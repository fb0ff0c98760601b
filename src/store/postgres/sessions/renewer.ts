import type { Renewer } from '../../contract.ts'
import { Database } from '../server/database.ts'
import type { PostgresOptions } from '../server/options.ts'
import { renewSessions } from './sessions.ts'

/** Renews sessions on a connection of its own, in a thread of its own. */
export function openPostgresRenewer(options: PostgresOptions): Renewer {
  const database = new Database({ ...options, poolSize: 1 })
  return {
    renew: (sessions) => renewSessions(database.sql, sessions),
    close: () => database.close(),
  }
}
