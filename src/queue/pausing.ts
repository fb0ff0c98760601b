import { setTimeout as sleep } from 'node:timers/promises'
import type { DiscoveryRecord, Store } from '../store/contract.ts'

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

/**
 * Ends what `pauseQueue(store, null)` began. A worker that was paused by its id stays paused; a worker that was given up
 * starts again.
 */
export async function resumeEverything(store: Store): Promise<void> {
  await store.setPaused(null, false)
  await store.command({ action: 'revive', worker: null, supervisor: null })
}

/** As each is now: a pause of everything pauses it, too. */
export async function listDiscoveries(store: Store): Promise<DiscoveryRecord[]> {
  const [all, everythingIsPaused] = await Promise.all([store.listDiscoveries(), store.everythingIsPaused()])
  if (!everythingIsPaused) return all
  return all.map((one) => ({
    ...one,
    paused: true,
    pausedReason: one.pausedReason ?? 'everything is paused',
  }))
}

export async function pauseDiscovery(store: Store, discovery: string): Promise<void> {
  await store.setDiscoveryPaused(discovery, true)
  await untilNothingIsHeldAhead(store, { discovery })
}

async function untilNothingIsHeldAhead(store: Store, of: Parameters<Store['holdsAhead']>[0]): Promise<void> {
  const untilMs = performance.now() + WAIT_MAX_MS
  while ((await store.holdsAhead(of)) && performance.now() < untilMs) await sleep(LOOK_EVERY_MS)
}
