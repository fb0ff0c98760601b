import { type RowCounts, unfinishedOf } from '../model/row.ts'
import type { Store } from '../store/contract.ts'

/** Counts, and writes it down: what came in over time follows from what was left at several times. */
export async function countAndNote(store: Store, name: string): Promise<RowCounts> {
  const counts = await store.countRows(name)
  // Aside: whoever asks for numbers does not wait for a lock.
  void store.noteRowsLeft(name, unfinishedOf(counts)).catch(() => {})
  return counts
}

/** Somebody saw some, last time. */
export async function wereLeft(store: Store, name: string): Promise<boolean> {
  const last = (await store.readLevels(name, 0)).at(-1)
  return last !== undefined && last.left > 0
}
