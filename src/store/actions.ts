import { readExactly } from '../exact-json.ts'
import type { ActionRecord } from '../model/action.ts'
import type { Page } from '../model/task.ts'
import { writeCursor } from './cursor.ts'
import { pageOf } from './task-row.ts'

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
