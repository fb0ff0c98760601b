import type { Lane } from '../../lane.ts'
import { byRank } from '../../lines.ts'
import type { Statements } from '../file/statements.ts'

export const READY = `status = 'queued' AND fence IS NULL AND suspect = 0`
export const SUSPECT = `status = 'queued' AND fence IS NULL AND suspect = 1`

/** A waiting task, as far as its place in line tells. */
export interface Head {
  id: number
  rank: number
  queue: string
}

export function isAny(db: Statements, which: string, lane: Lane): boolean {
  return db.sql(`SELECT 1 FROM gleaner_tasks WHERE lane = ? AND ${which} LIMIT 1`).get(lane.id) !== undefined
}

/** The same index serves both ways. */
export function inOrder(lastFirst: boolean): string {
  return lastFirst ? 'ORDER BY rank DESC, id DESC' : 'ORDER BY rank, id'
}

/** The head of one queue: each of its lanes is in order already, several are merged. */
export function headsOf(
  db: Statements,
  which: string,
  lanes: readonly Lane[],
  lastFirst: boolean,
  count: number,
): Head[] {
  const heads = lanes.flatMap(({ id, queue }) =>
    (
      db
        .sql(`SELECT id, rank FROM gleaner_tasks WHERE lane = ? AND ${which} ${inOrder(lastFirst)} LIMIT ?`)
        .all(id, count) as Omit<Head, 'queue'>[]
    ).map((head) => ({ ...head, queue })),
  )
  if (lanes.length > 1) heads.sort(byRank(lastFirst))
  return heads.slice(0, count)
}
