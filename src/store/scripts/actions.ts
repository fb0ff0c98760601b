import { type ActionRow, actionPage, detailsText } from '../actions.ts'
import { readCursor } from '../cursor.ts'
import type { Actions } from '../ports/actions.ts'
import { change, rows } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { sql } from '../sql/sql.ts'

/** The record of what operators asked for. */
export function actions({ db, read, write }: Scripts): Actions {
  return {
    noteAction: ({ action, target, role, user, address, details }) =>
      write(function* () {
        yield* change(sql`
          INSERT INTO gleaner.actions (at, action, target, role, "user", address, details)
          VALUES (${db.now}, ${action}, ${target}, ${role}, ${user}, ${address}, ${detailsText(details)})`)
      }),
    listActions: ({ limit, cursor }) =>
      read(function* () {
        const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
        const found = yield* rows<ActionRow>(
          sql`SELECT * FROM gleaner.actions WHERE id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`,
        )
        return actionPage(found, limit)
      }),
  }
}
