import type { Want } from './contract.ts'
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

/** Whatever is limited is started at once: in somebody's hands it would only keep others from their turn. */
export function startLimited<Item>(
  lines: readonly (readonly Item[])[],
  { start, ahead }: Want,
  isLimited: (item: Item) => boolean,
): Item[] {
  return inTurn(lines, start + ahead).filter((item, place) => place < start || !isLimited(item))
}
