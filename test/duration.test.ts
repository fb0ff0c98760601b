import { describe, expect, test } from 'vitest'
import { durationMs } from '../src/duration.ts'

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['1.5s', 1_500],
    [0, 0],
    [42, 42],
  ])('%s is %d milliseconds', (given, ms) => {
    expect(durationMs(given, 'timeout')).toBe(ms)
  })

  test.each([
    '',
    '5',
    's',
    '5 s',
    '-1s',
    '1y',
    Number.NaN,
    -1,
    Number.POSITIVE_INFINITY,
    null,
    undefined,
    {},
    '99999d',
  ])('%s is refused with a code and a hint', (given) => {
    expect(() => durationMs(given, 'timeout')).toThrow(
      expect.objectContaining({ code: 'BAD_DURATION', hint: expect.stringContaining("'5s'") }),
    )
  })
})
