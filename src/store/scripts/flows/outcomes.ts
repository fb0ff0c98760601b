import type { MemberOutcome, MemberStatus } from '../../../model/flow.ts'
import type { Page } from '../../../model/task.ts'
import { readCursor, writeCursor } from '../../cursor.ts'
import type { OutcomeFilter } from '../../ports/flows.ts'
import type { PageRequest } from '../../ports/page.ts'
import { rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'

/** Of results in one page: a parent reads ten thousand of them, and each may be large. */
const PAGE_BYTES = 4 * 1024 * 1024

interface OutcomeRow {
  task: number
  position: number
  status: MemberStatus | null
  result: string | null
  error: string | null
}

/** In the order of the tasks' ids. A task that was removed left what it ended with. */
export function* readOutcomes(
  flow: number,
  { limit, cursor, unsuccessful = false }: PageRequest & OutcomeFilter,
): Script<Page<MemberOutcome>> {
  const [after = 0] = readCursor(cursor, 1)
  const which = unsuccessful ? sql`AND m.counted IN ('failed', 'cancelled', 'removed')` : sql``
  const found = yield* rows<OutcomeRow>(sql`
    SELECT task, position, status, result, error FROM (
      SELECT o.*, pg_catalog.sum(coalesce(pg_catalog.octet_length(o.result), 0)) OVER (ORDER BY o.task) AS bytes,
        pg_catalog.row_number() OVER (ORDER BY o.task) AS place
      FROM (
        SELECT m.task, m.position,
          CASE WHEN t.id IS NULL THEN coalesce(m.status, 'removed') WHEN t.finished_at IS NOT NULL THEN t.status END AS status,
          CASE WHEN t.id IS NULL THEN m.result ELSE t.result END AS result,
          CASE WHEN t.id IS NULL THEN m.error ELSE t.error END AS error
        FROM (
          SELECT m.task, m.position, m.status, m.result, m.error FROM gleaner.flow_members AS m
          WHERE m.flow = ${flow} AND m.task > ${after} ${which} ORDER BY m.task LIMIT ${limit}) AS m
        LEFT JOIN gleaner.tasks AS t ON t.id = m.task) AS o) AS p
    WHERE bytes <= ${PAGE_BYTES} OR place = 1 ORDER BY task`)
  const items = found.map(({ task, position, status, result, error }) => ({
    position,
    id: String(task),
    status,
    result,
    error: error === null ? null : JSON.parse(error),
  }))
  const last = found.at(-1)
  const hasMore = last !== undefined && (yield* isBehind(flow, last.task))
  return { items, next: hasMore ? writeCursor([last.task]) : null }
}

function* isBehind(flow: number, task: number): Script<boolean> {
  const next = yield* rows(sql`
    SELECT task FROM gleaner.flow_members WHERE flow = ${flow} AND task > ${task} ORDER BY task LIMIT 1`)
  return next.length > 0
}
