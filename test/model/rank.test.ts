import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PRIORITY_FIRST, PRIORITY_LAST, rankOf } from '../../src/model/rank.ts'

const priority = fc.integer({ min: PRIORITY_FIRST, max: PRIORITY_LAST })
const time = fc.integer({ min: 0, max: Date.UTC(2109, 0, 1) })

test('a lower priority number is always before a higher one, whatever their times', () => {
  fc.assert(
    fc.property(priority, priority, time, time, (a, b, atA, atB) => {
      fc.pre(a < b)
      expect(rankOf(a, atA)).toBeLessThan(rankOf(b, atB))
    }),
  )
})

test('equal priorities are in the order of their times', () => {
  fc.assert(
    fc.property(priority, time, time, (p, a, b) => {
      expect(Math.sign(rankOf(p, a) - rankOf(p, b))).toBe(Math.sign(a - b))
    }),
  )
})

test('every rank is an exact integer', () => {
  fc.assert(fc.property(priority, time, (p, at) => Number.isSafeInteger(rankOf(p, at))))
})
