import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminStore } from '../store/ports/admin.ts'
import type { Store } from '../store/ports/store.ts'

const LOOK_EVERY_MS = 5
/** What is held ahead is started within some 50 ms, or goes back; who hangs, or is dead, is not waited for. */
const WAIT_MAX_MS = 2_000

/**
 * Answers when nothing more starts. What a worker had claimed and not begun when the pause was written down may still
 * begin for a moment; then it is known to have begun, or it went back.
 */
export async function pauseQueue(store: AdminStore, queue: string | null): Promise<void> {
  await store.setPaused(queue, true)
  await untilNothingIsHeldAhead(store, queue === null ? null : { queue })
}

/**
 * Ends what `pauseQueue(store, null)` began. A worker that was paused by its id stays paused; a worker that was given up
 * starts again.
 */
export async function resumeEverything(store: Pick<Store, 'admin' | 'sessions'>): Promise<void> {
  await store.admin.setPaused(null, false)
  await store.sessions.command({ action: 'revive', worker: null, supervisor: null })
}

export async function pauseDiscovery(store: Pick<Store, 'rows' | 'admin'>, discovery: string): Promise<void> {
  await store.rows.setDiscoveryPaused(discovery, true)
  await untilNothingIsHeldAhead(store.admin, { discovery })
}

async function untilNothingIsHeldAhead(
  store: AdminStore,
  of: Parameters<AdminStore['holdsAhead']>[0],
): Promise<void> {
  const untilMs = performance.now() + WAIT_MAX_MS
  while ((await store.holdsAhead(of)) && performance.now() < untilMs) await sleep(LOOK_EVERY_MS)
}
