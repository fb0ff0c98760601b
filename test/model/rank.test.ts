import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Ordering } from '../../src/model/queue.ts'
import { ORDERING_DEFAULT } from '../../src/model/queue.ts'
import {
  ERAS,
  generationBounds,
  isOfGeneration,
  isRankedAlike,
  PRIORITY_FIRST,
  PRIORITY_LAST,
  rankOf,
  VIRTUAL_TIME_LENGTH,
  virtualTime,
} from '../../src/model/rank.ts'

const priority = fc.integer({ min: PRIORITY_FIRST, max: PRIORITY_LAST })
// At the time 0 the third era would begin at -2 ** 53, which is one below the safe integers.
const time = fc.integer({ min: 1, max: Date.UTC(2109, 0, 1) })
const era = fc.integer({ min: 0, max: ERAS - 1 })
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const ageingMs = fc.integer({ min: 1, max: 3650 * 86_400_000 })
const ordering: fc.Arbitrary<Ordering> = fc.oneof(
  fc
    .constantFrom('fifo', 'lifo', 'priority', 'weighted')
    .map((strategy) => ({ strategy, ageingMs: null }) as const),
  ageingMs.map((ms) => ({ strategy: 'priority', ageingMs: ms }) as const),
)

const FIRST_ERA = { ...ORDERING_DEFAULT, era: 0 }
const never = () => expect.unreachable('nothing is left to chance here')
const rank = (priority: number, at: number) => rankOf(FIRST_ERA, priority, at, never)

describe('by priority', () => {
  test('a lower priority number is always before a higher one, whatever their times', () => {
    fc.assert(
      fc.property(priority, priority, time, time, (a, b, atA, atB) => {
        fc.pre(a < b)
        expect(rank(a, atA)).toBeLessThan(rank(b, atB))
      }),
    )
  })

  test('equal priorities are in the order of their times', () => {
    fc.assert(
      fc.property(priority, time, time, (p, a, b) => {
        expect(Math.sign(rank(p, a) - rank(p, b))).toBe(Math.sign(a - b))
      }),
    )
  })

  test('with ageing, who has waited one step longer is level with the next higher priority, and never before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: PRIORITY_LAST }), ageingMs, time, (p, ms, at) => {
        const ranking = { strategy: 'priority', ageingMs: ms, era: 0 } as const
        const waiting = rankOf(ranking, p, at, never)
        expect(rankOf(ranking, p - 1, at + ms - 1, never)).toBeLessThan(waiting)
        expect(rankOf(ranking, p - 1, at + ms, never)).toBe(waiting)
      }),
    )
  })
})

test('first in, first out and last in, first out rank by time alone, and alike', () => {
  fc.assert(
    fc.property(priority, time, era, (p, at, e) => {
      const fifo = rankOf({ strategy: 'fifo', ageingMs: null, era: e }, p, at, never)
      expect(fifo).toBe(generationBounds(e).start + at)
      expect(rankOf({ strategy: 'lifo', ageingMs: null, era: e }, 500, at, never)).toBe(fifo)
    }),
  )
  const alike = isRankedAlike({ strategy: 'fifo', ageingMs: null }, { strategy: 'lifo', ageingMs: null })
  expect(alike).toBe(true)
})

describe('eras', () => {
  test('every rank is an exact integer within its era, and within no other', () => {
    fc.assert(
      fc.property(ordering, era, priority, time, chance, (o, e, p, at, u) => {
        const drawn = rankOf(
          { ...o, era: e },
          p,
          o.strategy === 'weighted' ? VIRTUAL_TIME_LENGTH : at,
          () => u,
        )
        expect(Number.isSafeInteger(drawn)).toBe(true)
        const within = Array.from({ length: ERAS }, (_, one) => isOfGeneration(drawn, one))
        expect(within).toEqual(within.map((_, one) => one === e))
      }),
    )
  })

  test('a start in another era does not move a race on', () => {
    const weighted = { strategy: 'weighted', ageingMs: null, era: 2 } as const
    expect(virtualTime(weighted, generationBounds(2).start + 7)).toBe(7)
    expect(virtualTime(weighted, generationBounds(3).start + 7)).toBe(null)
  })
})
