import type { EndCause } from '../model/session.ts'
import type { Meter } from '../queue/meter.ts'
import type { LiveSession, SessionEnd, Store } from '../store/contract.ts'
import type { Emitter } from '../worker/events.ts'
import type { Hooks } from '../worker/hooks.ts'
import { tellOfFailure } from '../worker/report.ts'

/** Tells of a worker that is gone, and of the task that was put aside because it took it down. */
export async function reportLostWorker(
  { store, emitter, hooks, meter }: { store: Store; emitter: Emitter; hooks: Hooks; meter: Meter },
  session: LiveSession,
  cause: EndCause,
  end: SessionEnd,
): Promise<void> {
  emitter.emit('worker-lost', () => ({ worker: session.worker, cause, ...end }))
  const task = end.blamed === null ? null : await store.getTask(end.blamed)
  if (task?.status !== 'failed' || task.error === null) return
  const { id, name, queue, attempts: attempt, maxAttempts, worker, error } = task
  const event = { id, name, queue, attempt, maxAttempts, worker }
  meter.ran(task, 'failed', null)
  tellOfFailure(emitter, hooks, event, error, true)
  emitter.emit('failed', () => ({
    ...event,
    durationMs: (task.finishedAt ?? 0) - (task.startedAt ?? 0),
    error,
  }))
}
