import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../store/contract.ts'

const LOOK_EVERY_MS = 5
/** What is held ahead is started within some 50 ms, or goes back; who hangs, or is dead, is not waited for. */
const WAIT_MAX_MS = 2_000

/**
 * Answers when nothing more starts. What a worker had claimed and not begun when the pause was written down may still
 * begin for a moment; then it is known to have begun, or it went back.
 */
export async function pauseQueue(store: Store, queue: string | null): Promise<void> {
  await store.setPaused(queue, true)
  await untilNothingIsHeldAhead(store, queue === null ? null : { queue })
}

export async function pauseDiscovery(store: Store, discovery: string): Promise<void> {
  await store.setDiscoveryPaused(discovery, true)
  await untilNothingIsHeldAhead(store, { discovery })
}

async function untilNothingIsHeldAhead(store: Store, of: Parameters<Store['holdsAhead']>[0]): Promise<void> {
  const untilMs = performance.now() + WAIT_MAX_MS
  while ((await store.holdsAhead(of)) && performance.now() < untilMs) await sleep(LOOK_EVERY_MS)
}
