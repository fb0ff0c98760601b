import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  admission,
  areOver,
  LATE_START_MS,
  readStarts,
  roomToPrefetch,
  type Starts,
  withStarts,
  writeStarts,
} from '../../src/model/limit.ts'

const concurrency = (count: number) => ({ concurrency: count, rate: null })
const rate = (count: number, perMs: number) => ({ concurrency: null, rate: { count, perMs } })

describe('concurrency', () => {
  test.each([
    [0, 3],
    [2, 1],
    [3, 0],
    [5, 0],
  ])('of 3, with %d held, leaves room for %d', (held, room) => {
    expect(admission(concurrency(3), held, [], 0)).toEqual({ room, opensAt: null })
  })

  test('that is reached opens when somebody ends, whatever the rate says', () => {
    const both = { concurrency: 1, rate: { count: 1, perMs: 1_000 } }
    expect(admission(both, 1, [[0, 1]], 500)).toEqual({ room: 0, opensAt: null })
    expect(admission(both, 0, [[0, 1]], 500)).toEqual({ room: 0, opensAt: 1_000 })
  })
})

describe('a rate', () => {
  test('lets through what is left of its window, and says when there is more', () => {
    const starts: Starts = [
      [0, 2],
      [600, 1],
    ]
    expect(admission(rate(4, 1_000), 0, starts, 900)).toEqual({ room: 1, opensAt: null })
    expect(admission(rate(3, 1_000), 0, starts, 900)).toEqual({ room: 0, opensAt: 1_000 })
    expect(admission(rate(1, 1_000), 0, starts, 900)).toEqual({ room: 0, opensAt: 1_600 })
  })

  test('counts a start for as long as its window lasts, and no longer', () => {
    const { rate: perSecond } = rate(1, 1_000)
    const starts = withStarts([], perSecond, 5_000, { count: 1 })
    expect(areOver(starts, perSecond, 5_999)).toBe(false)
    expect(areOver(starts, perSecond, 6_000)).toBe(true)
    expect(withStarts(starts, perSecond, 6_000, { count: 1 })).toEqual([[6_000, 1]])
  })

  test('is written down in few words, however many start', () => {
    let starts: Starts = []
    for (let at = 0; at < 10_000; at++)
      starts = withStarts(starts, { count: 5_000, perMs: 1_000 }, at, { count: 3 })
    expect(starts.length).toBeLessThanOrEqual(101)
    expect(readStarts(writeStarts(starts))).toEqual(starts)
    expect(writeStarts([])).toBe('')
  })

  test('does not wait for ever when the clock was set back', () => {
    const starts: Starts = [[1_000_000, 5]]
    expect(admission(rate(5, 1_000), 0, starts, 500)).toMatchObject({ room: 5 })
  })

  test('is never exceeded in any window, however late what was prefetched starts', () => {
    const tries = fc.record({
      count: fc.integer({ min: 10, max: 200 }),
      perMs: fc.integer({ min: 1_000, max: 5_000 }),
      wants: fc.array(
        fc.record({ now: fc.nat(8), ahead: fc.nat(20), late: fc.nat(LATE_START_MS), pause: fc.nat(300) }),
        {
          minLength: 1,
          maxLength: 12,
        },
      ),
    })
    fc.assert(
      fc.property(tries, ({ count, perMs, wants }) => {
        const limit = rate(count, perMs)
        const at: number[] = []
        let starts: Starts = []
        let now = 12_345
        for (let turn = 0; now < 12_345 + 3 * perMs; turn++) {
          const want = wants[turn % wants.length]!
          const starting = Math.min(admission(limit, 0, starts, now).room, want.now)
          starts = withStarts(starts, limit.rate, now, { count: starting })
          const prefetched = Math.min(roomToPrefetch(limit, 0, starts, now), want.ahead)
          starts = withStarts(starts, limit.rate, now, { count: prefetched, lateMs: LATE_START_MS })
          at.push(...Array(starting).fill(now), ...Array(prefetched).fill(now + want.late))
          now += 1 + want.pause
        }
        at.sort((a, b) => a - b)
        return at.every((first, i) => at[i + count] === undefined || at[i + count]! - first >= perMs)
      }),
    )
  })

  test('is never exceeded in any window, and is used to at least 98 %', () => {
    const tries = fc.record({
      count: fc.integer({ min: 1, max: 50 }),
      perMs: fc.integer({ min: 500, max: 5_000 }),
      wants: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 }),
    })
    fc.assert(
      fc.property(tries, ({ count, perMs, wants }) => {
        const limit = rate(count, perMs)
        const at: number[] = []
        let starts: Starts = []
        let now = 12_345
        const end = now + 20 * perMs
        for (let turn = 0; now < end; turn++) {
          const { room, opensAt } = admission(limit, 0, starts, now)
          const n = Math.min(room, wants[turn % wants.length]!)
          if (n > 0) starts = withStarts(starts, limit.rate, now, { count: n })
          for (let i = 0; i < n; i++) at.push(now)
          now = n === 0 ? opensAt! : now + (turn % 3 === 0 ? 1 : 0)
        }
        for (const [i, first] of at.entries()) {
          const next = at[i + count]
          if (next !== undefined && next - first < perMs) return false
        }
        return at.length >= 0.98 * 20 * count
      }),
    )
  })
})
