import type { Renewer } from '../../contract.ts'
import { Connection } from '../file/connection.ts'
import { renewSessions } from './sessions.ts'

/** Renews sessions on a connection of its own, in a thread of its own. */
export function openSqliteRenewer(path: string): Renewer {
  const connection = new Connection(path)
  return {
    async renew(sessions) {
      const alive = await connection.transaction(
        () => renewSessions(connection.statements, sessions.map(Number), Date.now()),
        'normal',
      )
      return alive.map(String)
    },
    async close() {
      connection.close()
    },
  }
}
