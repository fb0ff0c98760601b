import { type RowCounts, unfinishedOf } from '../model/row.ts'
import type { AdminStore } from '../store/ports/admin.ts'
import type { DiscoveryRecord } from '../store/ports/rows.ts'
import type { Store } from '../store/ports/store.ts'

/** The discoveries in their state now: a pause of everything also pauses each of them. */
export async function describeDiscoveries(store: Pick<Store, 'rows' | 'admin'>): Promise<DiscoveryRecord[]> {
  const [all, everythingIsPaused] = await Promise.all([
    store.rows.listDiscoveries(),
    store.admin.everythingIsPaused(),
  ])
  if (!everythingIsPaused) return all
  return all.map((one) => ({
    ...one,
    paused: true,
    pausedReason: one.pausedReason ?? 'everything is paused',
  }))
}

/** Counts the rows, and stores the count: how many came in over time follows from the counts of several times. */
export async function countAndNote(store: Pick<Store, 'rows' | 'admin'>, name: string): Promise<RowCounts> {
  const counts = await store.rows.countRows(name)
  // Nothing waits for it: a caller that asks for numbers must not wait for a lock.
  void store.admin.noteRowsLeft(name, unfinishedOf(counts)).catch(() => {})
  return counts
}

/** The last count found some. */
export async function wereLeft(store: AdminStore, name: string): Promise<boolean> {
  const last = (await store.readLevels(name, 0)).at(-1)
  return last !== undefined && last.left > 0
}
