import { readExactly } from '../exact-json.ts'
import type { LogLine, Page } from '../model/task.ts'
import { writeCursor } from './cursor.ts'
import type { LogRequest } from './ports/tasks.ts'
import { pageOf } from './task-row.ts'

/** Kept per task: the newest. */
export const LOG_LINES_MAX = 1_000

/** A line of a task's log, in either store. */
export type LogRow = Omit<LogLine, 'details'> & { line: number; details: string | null }

/** One more row than `limit` was read. */
export function logPage(
  rows: readonly LogRow[],
  { limit, cursor, follow = false }: LogRequest,
): Page<LogLine> {
  const page = pageOf(
    rows,
    limit,
    ({ line: _, details, ...rest }) => ({ ...rest, details: details === null ? null : readExactly(details) }),
    (last) => writeCursor([last.line]),
  )
  if (!follow || page.next !== null) return page
  const last = rows.at(-1)
  return { ...page, next: last === undefined ? (cursor ?? writeCursor([0])) : writeCursor([last.line]) }
}
