import type { DiscoveryRegistry } from '../discovery/registry.ts'
import { readRowId } from '../model/row.ts'
import type { EndCause } from '../model/session.ts'
import type { Failure } from '../model/task.ts'
import type { Meter } from '../observe/meter.ts'
import type { LiveSession, SessionEnd } from '../store/ports/sessions.ts'
import type { Store } from '../store/ports/store.ts'
import type { Emitter, TaskEvent } from '../worker/attempt/events.ts'
import type { Hooks } from '../worker/attempt/hooks.ts'
import { tellOfFailure } from '../worker/report/report.ts'

interface Reporting {
  store: Pick<Store, 'tasks' | 'rows'>
  emitter: Emitter
  hooks: Hooks
  meter: Meter
  discoveries: DiscoveryRegistry
}

/** Tells of a worker that is gone, and of the item that was put aside because it took it down. */
export async function reportLostWorker(
  reporting: Reporting,
  session: LiveSession,
  cause: EndCause,
  end: SessionEnd,
): Promise<void> {
  const { emitter, hooks, meter } = reporting
  meter.rescued(cause, end.returned)
  emitter.emit('worker-lost', () => ({ worker: session.worker, cause, ...end }))
  const item = end.blamed === null ? null : await putAside(reporting, end.blamed, session.worker)
  if (item === null) return
  const { error, durationMs, ...event } = item
  meter.ran(event, 'failed', null)
  meter.incident(event, error.kind)
  tellOfFailure({ emitter, hooks }, event, error, true)
  emitter.emit('failed', () => item)
}

/** Null: it will be tried again. */
function putAside(
  reporting: Reporting,
  id: string,
  worker: string,
): Promise<(TaskEvent & { durationMs: number; error: Failure }) | null> {
  const row = readRowId(id)
  return row === null ? failedTask(reporting, id) : quarantinedRow(reporting, id, row, worker)
}

async function failedTask({ store }: Reporting, id: string) {
  const task = await store.tasks.getTask(id)
  if (task?.status !== 'failed' || task.error === null) return null
  const { name, queue, attempts: attempt, maxAttempts, worker, error, startedAt, finishedAt } = task
  const durationMs = (finishedAt ?? 0) - (startedAt ?? 0)
  return { id, name, queue, attempt, maxAttempts, worker, durationMs, error }
}

async function quarantinedRow(
  { store, discoveries }: Reporting,
  id: string,
  { discovery, key }: { discovery: string; key: string },
  worker: string,
) {
  const row = await store.rows.getRow(discovery, key)
  if (row?.state !== 'quarantined' || row.error === null) return null
  const { attempts: attempt, error } = row
  const maxAttempts = discoveries.get(discovery)?.retry.attempts ?? attempt
  // When it was started is gone with its claim.
  return { id, name: discovery, queue: null, attempt, maxAttempts, worker, durationMs: 0, error }
}
