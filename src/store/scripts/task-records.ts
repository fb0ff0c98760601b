import type { AttemptRecord } from '../../model/task.ts'
import type { Ending } from '../managing.ts'
import type { Dialect } from '../sql/dialect.ts'
import { one, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import { type AttemptRow, attemptRecord, endingOf, lastAttempt, type TaskRow } from '../task-row.ts'

/** Every attempt: those that are kept, and the last one as the task's own row has it. */
export function* readAttempts(id: number): Script<AttemptRecord[]> {
  const kept = yield* rows<AttemptRow>(sql`
    SELECT a.*, s.worker FROM gleaner.attempts AS a LEFT JOIN gleaner.sessions AS s ON s.id = a.session
    WHERE a.task = ${id} ORDER BY a.id`)
  const task = yield* one<TaskRow & { worker: string | null }>(sql`
    SELECT t.*, s.worker FROM gleaner.tasks AS t LEFT JOIN gleaner.sessions AS s ON s.id = t.session WHERE t.id = ${id}`)
  return [...kept.map(attemptRecord), ...lastAttempt(task, task?.worker ?? null)]
}

type EndingRow = Pick<TaskRow, 'id' | 'status' | 'result' | 'error' | 'finished_at'>

/** `rowid`: an id that is none of ours names no task. */
export function* readEndings(
  db: Dialect,
  ids: readonly string[],
  rowid: (id: string) => number,
): Script<Map<string, Ending>> {
  const found = yield* rows<EndingRow>(sql`
    SELECT id, status, result, error, finished_at FROM gleaner.tasks WHERE id ${db.oneOf(ids.map(rowid))}`)
  const byId = new Map(found.map((row) => [row.id, row]))
  const endings = new Map<string, Ending>()
  for (const id of ids) {
    const ending = endingOf(byId.get(rowid(id)))
    if (ending !== null) endings.set(id, ending)
  }
  return endings
}
