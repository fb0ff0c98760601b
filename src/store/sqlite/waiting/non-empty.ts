import type { Statements } from '../file/statements.ts'

/** The next lane or line, from a given one on, that has an entry in one of the indexes. */
export const READY_LANE = `SELECT lane FROM gleaner_tasks
  WHERE lane >= ? AND status = 'queued' AND fence IS NULL AND suspect = 0 ORDER BY lane LIMIT 1`
export const SUSPECT_LANE = `SELECT lane FROM gleaner_tasks
  WHERE lane >= ? AND status = 'queued' AND fence IS NULL AND suspect = 1 ORDER BY lane LIMIT 1`
export const READY_LINE = `SELECT line FROM gleaner_tasks
  WHERE line >= ? AND status = 'queued' AND fence IS NULL AND suspect = 0 ORDER BY line LIMIT 1`
export const READY_KEYS = `SELECT base FROM gleaner_turnstiles WHERE base >= ? AND ready = 1 ORDER BY base LIMIT 1`

/**
 * Those of these ids, in ascending order, that an index has an entry of. It goes from entry to entry, so that neither
 * thousands of empty lanes nor thousands of lanes of others cost anything.
 */
export function* nonEmpty(db: Statements, next: string, ids: readonly number[]): Generator<number> {
  for (let at = 0; at < ids.length; ) {
    const found = db.scalar(next).get(ids[at]!) as number | undefined
    if (found === undefined) return
    at = firstFrom(ids, found, at)
    if (ids[at] === found) {
      yield found
      at += 1
    }
  }
}

/** The place of the first id that is not below this one. */
function firstFrom(ids: readonly number[], id: number, from: number): number {
  let [low, high] = [from, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ids[middle]! < id) low = middle + 1
    else high = middle
  }
  return low
}
