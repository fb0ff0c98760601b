import { readExactly } from '../exact-json.ts'
import type { ActionRecord, NewAction } from '../model/action.ts'
import type { Page } from '../model/task.ts'
import { writeCursor } from './cursor.ts'
import type { PageRequest } from './managing.ts'
import { pageOf } from './task-row.ts'

/** What operators asked for, for others to read later. It is only ever added to: the database itself refuses anything else. */
export interface Actions {
  /** On disk when it answers, so that nothing is done that nobody knows of. */
  noteAction(action: NewAction): Promise<void>
  /** The last first. */
  listActions(page: PageRequest): Promise<Page<ActionRecord>>
}

/** Its row, in either store. */
export interface ActionRow extends Omit<ActionRecord, 'id' | 'details'> {
  id: number
  details: string | null
}

/** `rows` has one more than the page, if there are more. */
export function actionPage(rows: readonly ActionRow[], limit: number): Page<ActionRecord> {
  return pageOf(
    rows,
    limit,
    ({ id, details, ...row }) => ({
      ...row,
      id: String(id),
      details: details === null ? null : readExactly(details),
    }),
    ({ id }) => writeCursor([id]),
  )
}

export function detailsText(details: unknown): string | null {
  return details === null || details === undefined ? null : JSON.stringify(details)
}
