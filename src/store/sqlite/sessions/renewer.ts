import type { SqliteLibrary } from '../../ports/database.ts'
import type { Renewer } from '../../ports/renewal.ts'
import { renewSessions } from '../../scripts/renewing.ts'
import { Connection } from '../file/connection.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'

const DIALECT = sqliteDialect(Date.now)

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
      return connection.transaction(
        () => driveOn(connection.statements, renewSessions(DIALECT, sessions, leaseMs)),
        'normal',
      )
    },
    async close() {
      opened?.close()
    },
  }
}
