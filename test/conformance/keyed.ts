import type { WhenHeld } from '../../src/model/held-key.ts'
import type { Enqueued, NewTask } from '../../src/store/ports/new-task.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { newTask } from './world.ts'

export const replace: WhenHeld = { kind: 'replace' }
export const debounce: WhenHeld = { kind: 'debounce', ms: 100, maxWaitMs: null }
/** More than a follower rests between two looks. */
export const LOOK_MS = 1_000

/** All of one key. */
export function keyed(whenHeld: WhenHeld | null, input: number, more: Partial<NewTask> = {}): NewTask {
  const runAfter = whenHeld?.kind === 'debounce' ? { ms: whenHeld.ms } : null
  return newTask({ key: 'k', whenHeld, input: JSON.stringify(input), runAfter, ...more })
}

export async function enqueueKeyed(
  store: Store,
  whenHeld: WhenHeld | null,
  input: number,
): Promise<Enqueued> {
  return (await store.tasks.enqueue([keyed(whenHeld, input)]))[0]!
}
