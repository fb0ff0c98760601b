import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addTo,
  bucketOf,
  type Histogram,
  percentileMs,
  readHistogram,
  writeHistogram,
} from '../../src/model/histogram.ts'

const durations = fc.array(fc.double({ min: 0.02, max: 1e8, noNaN: true }), { minLength: 1, maxLength: 300 })

function histogramOf(all: readonly number[]): Histogram {
  return all.reduce((histogram, ms) => addTo(histogram, [[bucketOf(ms), 1]]), new Map<number, number>())
}

test('a percentile is true to 5 %, whatever was measured', () => {
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.95, 0.99, 1), (all, share) => {
      const exact = [...all].sort((a, b) => a - b)[Math.ceil(share * all.length) - 1]!
      const read = percentileMs(histogramOf(all), share)!
      expect(Math.abs(read - exact) / exact).toBeLessThan(0.05)
    }),
  )
})

test('histograms that are added up are that of all together', () => {
  fc.assert(
    fc.property(durations, durations, (some, others) => {
      const together = addTo(histogramOf(some), histogramOf(others))
      expect(readHistogram(writeHistogram(together))).toEqual(
        readHistogram(writeHistogram(histogramOf([...some, ...others]))),
      )
    }),
  )
})

test('what took no time, or for ever, has a place as well', () => {
  expect(percentileMs(histogramOf([0]), 0.5)).toBe(0.01)
  expect(percentileMs(histogramOf([1e300]), 0.5)).toBeGreaterThan(1e9)
  expect(percentileMs(new Map(), 0.5)).toBe(null)
})
