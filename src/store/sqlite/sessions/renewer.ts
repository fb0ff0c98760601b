import type { Renewer } from '../../contract.ts'
import { Connection } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'

/**
 * Renews sessions on a connection of its own, in a thread of its own, which loads nothing but this: it starts together with the worker.
 * The file is opened when the first of them is due.
 */
export function openSqliteRenewer(path: string): Renewer {
  let opened: Connection | undefined
  return {
    async renew(sessions) {
      opened ??= new Connection(path)
      const connection = opened
      const alive = await connection.transaction(
        () => renewSessions(connection.statements, sessions.map(Number), Date.now()),
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
function renewSessions(db: Statements, sessions: readonly number[], now: number): number[] {
  return sessions.filter((session) => {
    const { changes } = db
      .sql(
        'UPDATE gleaner_sessions SET renewals = renewals + 1, renewed_at = ? WHERE id = ? AND ended_at IS NULL',
      )
      .run(now, session)
    return changes > 0
  })
}
