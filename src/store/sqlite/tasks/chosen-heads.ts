import { oneLine } from '../../lines.ts'
import { chosenHeads, hasChosenOrder, isBackwards, placedAnew } from '../../scripts/chosen-heads.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'
import type { ClaimScope } from '../limits/claim-scope.ts'
import { keyedHeads } from '../limits/ready-keys.ts'
import type { Candidate } from './limited-claim.ts'
import type { Memory } from './memory.ts'

/** Places follow from what is stored. */
const DIALECT = sqliteDialect(() => Number.NaN)

/** Whether the worker, or the definition of one of its tasks, chose another order for this queue than the stored one. */
export function isInChosenOrder({ orders, lanes }: ClaimScope, queue: string): boolean {
  if (orders === undefined) return false
  return hasChosenOrder(orders, queue, lanesOf(lanes, queue))
}

/** The head of one queue in that order: each lane is read by itself. */
export function headsOfQueueInOrder(
  db: Statements,
  { lanes, queues }: Pick<Memory, 'lanes' | 'queues'>,
  open: ClaimScope,
  { queue, count, now }: { queue: string; count: number; now: number },
): Candidate[] {
  const stored = queues.of(queue)
  const chosen = open.orders!.queues.get(queue) ?? null
  const lastFirst = isBackwards(stored, chosen)
  const { random } = queues
  const read = { stored, chosen, lanes: lanesOf(open.lanes, queue), tasks: open.orders!.tasks, count, random }
  const heads = driveOn(db, chosenHeads(DIALECT, read))
  const plain: Candidate[] = heads.map(({ id, rank }) => ({ id, rank, queue }))
  if (!open.keyed) return plain
  const keyed = keyedHeads(
    db,
    lanes.limits,
    open.lanes,
    queue,
    { lastFirst, count, start: count, share: 1 },
    now,
  )
  return oneLine(plain, driveOn(db, placedAnew(DIALECT, keyed, read)), lastFirst).slice(0, count)
}

function lanesOf(lanes: ClaimScope['lanes'], queue: string) {
  return (lanes.queues.get(queue)?.ids ?? []).map((id) => lanes.lane(id)!)
}
