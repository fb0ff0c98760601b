import type { Renewer } from '../../renewal.ts'
import type { SqliteLibrary } from '../drivers/driver.ts'
import { Connection } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'
import { advanceLeaseClock } from './lease-clock.ts'

/**
 * Renews sessions on a connection of its own, in a thread of its own, which loads nothing but this: it starts together with the worker.
 * The file is opened when the first of them is due.
 */
export function openSqliteRenewer(path: string, leaseMs: number, library?: SqliteLibrary): Renewer {
  let opened: Connection | undefined
  return {
    async renew(sessions) {
      opened ??= new Connection(path, { library })
      const connection = opened
      const alive = await connection.transaction(
        () => renewSessions(connection.statements, sessions.map(Number), leaseMs),
        'normal',
      )
      return alive.map(String)
    },
    async close() {
      opened?.close()
    },
  }
}

/** One write for all; answers those that are alive. */
function renewSessions(db: Statements, sessions: readonly number[], leaseMs: number): number[] {
  const now = Date.now()
  const leaseTime = advanceLeaseClock(db, now, leaseMs)
  return sessions.filter((session) => {
    const { changes } = db
      .sql(
        `UPDATE gleaner_sessions SET renewals = renewals + 1, renewed_at = ?, lease_time = ?
         WHERE id = ? AND ended_at IS NULL`,
      )
      .run(now, leaseTime, session)
    return changes > 0
  })
}
