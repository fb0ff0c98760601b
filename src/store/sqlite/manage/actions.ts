import { type ActionRow, type Actions, actionPage, detailsText } from '../../actions.ts'
import { readCursor } from '../../cursor.ts'
import type { Durability } from '../file/connection.ts'
import type { Statements } from '../file/statements.ts'

export interface ActionServices {
  db: Statements
  now: () => number
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T) => Promise<T>
}

/** The record of what operators asked for. */
export function actions({ db, now, promised, read, write }: ActionServices): Actions {
  return {
    noteAction: ({ action, target, role, user, address, details }) =>
      write(promised, () => {
        db.sql(`INSERT INTO gleaner_actions (at, action, target, role, user, address, details)
                VALUES (?, ?, ?, ?, ?, ?, ?)`).run(
          now(),
          action,
          target,
          role,
          user,
          address,
          detailsText(details),
        )
      }),
    listActions: ({ limit, cursor }) =>
      read(() => {
        const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
        const rows = db
          .sql('SELECT * FROM gleaner_actions WHERE id < ? ORDER BY id DESC LIMIT ?')
          .all(before, limit + 1) as ActionRow[]
        return actionPage(rows, limit)
      }),
  }
}
