import { readRowId } from '../model/row.ts'
import type { WorkReport } from '../process/work-report.ts'
import type { Store } from '../store/ports/store.ts'

/** The failed attempt of an item whose process ended under it, read from the database. Null: it did not fail. */
export async function reportOfFailure(
  store: Pick<Store, 'tasks' | 'rows'>,
  id: string,
): Promise<WorkReport | null> {
  const row = readRowId(id)
  return row === null ? ofTask(store, id) : ofRow(store, id, row)
}

async function ofTask(store: Pick<Store, 'tasks'>, id: string): Promise<WorkReport | null> {
  const task = await store.tasks.getTask(id)
  if (task === null || task.error === null) return null
  const { name, queue, attempts: attempt, maxAttempts, error, status, runAfter } = task
  const retryInMs = status === 'failed' ? null : Math.max(0, (runAfter ?? 0) - Date.now())
  return { kind: 'failed', id, name, queue, attempt, maxAttempts, durationMs: null, error, retryInMs }
}

async function ofRow(
  store: Pick<Store, 'tasks' | 'rows'>,
  id: string,
  { discovery: name, key }: { discovery: string; key: string },
): Promise<WorkReport | null> {
  const row = await store.rows.getRow(name, key)
  if (row === null || row.error === null) return null
  const { attempts: attempt, error, state, nextAt } = row
  const retryInMs = state === 'quarantined' ? null : Math.max(0, (nextAt ?? 0) - Date.now())
  return {
    kind: 'failed',
    id,
    name,
    queue: null,
    attempt,
    maxAttempts: null,
    durationMs: null,
    error,
    retryInMs,
  }
}
