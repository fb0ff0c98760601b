import { type ActionRow, type Actions, actionPage, detailsText } from '../../actions.ts'
import { readCursor } from '../../cursor.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'

export interface ActionServices {
  sql: Sql
  clockMs: () => number | null
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
}

/** The record of what operators asked for. */
export function actions({ sql, clockMs, read, write }: ActionServices): Actions {
  return {
    noteAction: ({ action, target, role, user, address, details }) =>
      write(async (own) => {
        await own.run(
          `INSERT INTO gleaner.actions (at, action, target, role, "user", address, details)
           VALUES (coalesce($1::bigint, gleaner.now_ms()), $2, $3, $4, $5, $6, $7)`,
          [clockMs(), action, target, role, user, address, detailsText(details)],
        )
      }),
    listActions: ({ limit, cursor }) =>
      read(async () => {
        const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
        const rows = await sql.rows<ActionRow>(
          'SELECT * FROM gleaner.actions WHERE id < $1 ORDER BY id DESC LIMIT $2',
          [before, limit + 1],
        )
        return actionPage(rows, limit)
      }),
  }
}
