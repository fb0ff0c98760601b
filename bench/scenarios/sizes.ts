import type { ContenderName } from '../contenders/contender.ts'
import type { Bench } from './scenario.ts'

/** A tenth is enough to know the rate of those that take a millisecond or more for each. */
const SHARE: Readonly<Record<ContenderName, number>> = {
  gleaner: 1,
  raw: 1,
  plainjob: 1,
  liteque: 0.1,
  sidequest: 0.1,
}

const A_TENTH = 'a tenth of the tasks'

export function sizeFor(bench: Bench, contender: ContenderName, real: number, quick: number): number {
  return bench.size(real * SHARE[contender], quick)
}

export function sizeNote(contender: ContenderName): string | undefined {
  return SHARE[contender] < 1 ? A_TENTH : undefined
}
