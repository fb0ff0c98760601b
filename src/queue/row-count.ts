import { type RowCounts, unfinishedOf } from '../model/row.ts'
import type { AdminStore } from '../store/ports/admin.ts'
import type { Store } from '../store/ports/store.ts'

/** Counts, and writes it down: what came in over time follows from what was left at several times. */
export async function countAndNote(store: Pick<Store, 'rows' | 'admin'>, name: string): Promise<RowCounts> {
  const counts = await store.rows.countRows(name)
  // Aside: whoever asks for numbers does not wait for a lock.
  void store.admin.noteRowsLeft(name, unfinishedOf(counts)).catch(() => {})
  return counts
}

/** Somebody saw some, last time. */
export async function wereLeft(store: AdminStore, name: string): Promise<boolean> {
  const last = (await store.readLevels(name, 0)).at(-1)
  return last !== undefined && last.left > 0
}
