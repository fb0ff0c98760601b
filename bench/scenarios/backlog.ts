import { type ContenderName, labelOf } from '../contenders/contender.ts'
import { type Bench, type Entry, PER_SECOND, type Stock, type Target } from './scenario.ts'

export const FIRST = 10_000
const LIMIT_MS = 10_000
const MILLION = 1_000_000
const QUICK_FIRST = 300

export const SHORT = '10 000 waiting'
export const CROWDS = {
  waiting: '1 million waiting',
  completed: '1 million completed kept',
  future: '100 000 future of top priority in front',
  incompatible: '100 000 incompatible of top priority in front',
}
export type Crowd = 'short' | keyof typeof CROWDS

/** The rate of the first so many due tasks, beside whatever else is there. */
export function backlogEntry(bench: Bench, contender: ContenderName, crowd: Crowd): Entry {
  const count = bench.size(FIRST, QUICK_FIRST)
  return {
    label: backlogLabel(contender, crowd),
    contender,
    measure: () =>
      bench.withStock(stockOf(bench, contender, crowd), async (place) => {
        const { perSecond } = await bench.play('drain-first', { contender, place, count, limitMs: LIMIT_MS })
        return { perSecond }
      }),
  }
}

export const BACKLOG_TARGETS: readonly Target[] = (
  ['waiting', 'completed', 'future', 'incompatible'] as const
).map(
  (crowd): Target => ({
    level: 'reach',
    text: `${CROWDS[crowd]}: ≥ 0.8 × the rate with 10 000`,
    entry: backlogLabel('gleaner', crowd),
    metric: PER_SECOND.key,
    relativeTo: backlogLabel('gleaner', 'short'),
    atLeast: 0.8,
  }),
)

export function backlogLabel(contender: ContenderName, crowd: Crowd): string {
  return `${labelOf(contender)}, ${crowd === 'short' ? SHORT : CROWDS[crowd]}`
}

export function stockOf(bench: Bench, contender: ContenderName, crowd: Crowd): Stock {
  const due = { state: 'waiting', count: bench.size(FIRST, QUICK_FIRST) } as const
  switch (crowd) {
    case 'short':
      return { contender, stock: [due] }
    case 'waiting':
      return { contender, stock: [{ state: 'waiting', count: bench.size(MILLION, 1000) }] }
    case 'completed':
      return { contender, stock: [{ state: 'completed', count: bench.size(MILLION, 1000) }, due] }
    case 'future':
      return { contender, stock: [{ state: 'future-in-front', count: bench.size(100_000, 300) }, due] }
    case 'incompatible':
      return { contender, stock: [{ state: 'incompatible-in-front', count: bench.size(100_000, 300) }, due] }
  }
}
