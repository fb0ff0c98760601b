import type { LimitCounter } from './limit-counter.ts'
import type { ClaimRequest } from './ports/exchange.ts'
import { inTurn } from './turns.ts'

/** A task that might be next, as far as its place in line tells. */
interface Placed {
  id: number
  rank: number
}

export function byRank(lastFirst: boolean): (a: Placed, b: Placed) => number {
  const forwards = (a: Placed, b: Placed) => a.rank - b.rank || a.id - b.id
  return lastFirst ? (a, b) => forwards(b, a) : forwards
}

/**
 * The line of a queue. What has no key stands in the order of the queue; what has one in the order in which keys take turns,
 * or one with a long backlog would stand before all others. Of the two that are first, the one goes first whose rank says so.
 */
export function oneLine<Item extends Placed>(
  plain: readonly Item[],
  keyed: readonly Item[],
  lastFirst: boolean,
): Item[] {
  const isBefore = byRank(lastFirst)
  const line: Item[] = []
  let p = 0
  let k = 0
  while (p < plain.length || k < keyed.length) {
    const [one, other] = [plain[p], keyed[k]]
    if (other === undefined || (one !== undefined && isBefore(one, other) < 0)) {
      line.push(one!)
      p += 1
    } else {
      line.push(other)
      k += 1
    }
  }
  return line
}

/**
 * One of each line in turn. What limits count is prefetched as far as half of the room that is left when the others have
 * started, so that other workers find room as well. Under a rate little is prefetched, because it counts starts.
 */
export function startWithinLimits<Item>(
  lines: readonly (readonly Item[])[],
  { start, ahead }: ClaimRequest,
  gatesOf: (item: Item) => readonly LimitCounter[],
  now: number,
): Item[] {
  const next = inTurn(lines, start + ahead)
  const left = new Map<LimitCounter, number>()
  for (const item of next.slice(0, start))
    for (const gate of gatesOf(item)) left.set(gate, (left.get(gate) ?? 0) - 1)
  for (const gate of new Set(next.slice(start).flatMap(gatesOf)))
    left.set(gate, Math.floor((gate.roomToPrefetch(now) + (left.get(gate) ?? 0)) / 2))
  const prefetched = next.slice(start).filter((item) => {
    const gates = gatesOf(item)
    if (gates.some((gate) => left.get(gate)! <= 0)) return false
    for (const gate of gates) left.set(gate, left.get(gate)! - 1)
    return true
  })
  return [...next.slice(0, start), ...prefetched]
}
