import { describe, expect, test } from 'vitest'
import { nextOccurrence, occurrenceAfter, overlaps, type Schedule } from '../../src/model/schedule.ts'

/** What nextOccurrence says, one after the other. */
function occurrences(schedule: Schedule, from: number, until: number): number[] {
  const found: number[] = []
  for (let at = nextOccurrence(schedule, from); at < until; at = nextOccurrence(schedule, at)) found.push(at)
  return found
}

const iso = (times: readonly number[]) => times.map((at) => new Date(at).toISOString().slice(0, 16))

describe('a time that a clock change', () => {
  test('leaves out occurs once, right after the gap', () => {
    const berlin = { every: '30 2 * * *', timezone: 'Europe/Berlin' }
    expect(iso(occurrences(berlin, Date.UTC(2026, 2, 28), Date.UTC(2026, 2, 31)))).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ])
    const lordHowe = { every: '15 2 * * *', timezone: 'Australia/Lord_Howe' }
    expect(iso(occurrences(lordHowe, Date.UTC(2026, 9, 2, 12), Date.UTC(2026, 9, 5, 12)))).toEqual([
      '2026-10-02T15:45',
      '2026-10-03T15:30',
      '2026-10-04T15:15',
    ])
  })

  test('repeats occurs once, the first time', () => {
    const berlin = { every: '30 2 * * *', timezone: 'Europe/Berlin' }
    expect(iso(occurrences(berlin, Date.UTC(2026, 9, 24), Date.UTC(2026, 9, 27)))).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
    const newYork = { every: '30 1 * * *', timezone: 'America/New_York' }
    expect(iso(occurrences(newYork, Date.UTC(2026, 9, 31), Date.UTC(2026, 10, 3)))).toEqual([
      '2026-10-31T05:30',
      '2026-11-01T05:30',
      '2026-11-02T06:30',
    ])
  })

  test('repeats does not silence what runs every so many minutes', () => {
    const berlin = { every: '*/30 * * * *', timezone: 'Europe/Berlin' }
    const times = occurrences(berlin, Date.UTC(2026, 9, 24, 23), Date.UTC(2026, 9, 25, 3))
    expect(times.map((at, i) => at - (times[i - 1] ?? at - 1_800_000))).toEqual(times.map(() => 1_800_000))
  })
})

test('a sixth field, in front, is seconds', () => {
  const schedule = { every: '*/20 0 0 1 1 *', timezone: 'UTC' }
  const newYear = Date.UTC(2027, 0, 1)
  expect(occurrences(schedule, Date.UTC(2026, 5, 1), Date.UTC(2027, 5, 1))).toEqual([
    newYear,
    newYear + 20_000,
    newYear + 40_000,
  ])
})

test('an interval is counted from 1970: wherever one begins to look, the times are the same', () => {
  const schedule = { every: '10m', timezone: null }
  const noon = Date.UTC(2026, 5, 1, 12)
  expect(nextOccurrence(schedule, noon - 1)).toBe(noon)
  expect(nextOccurrence(schedule, noon)).toBe(noon + 600_000)
  expect(nextOccurrence(schedule, noon + 599_999)).toBe(noon + 600_000)
  const [from, until] = [noon, noon + 7 * 86_400_000]
  expect(occurrences({ every: '90m', timezone: null }, from, until)).toHaveLength((7 * 24 * 60) / 90 - 1)
})

describe('after an occurrence', () => {
  const hourly = { every: '0 * * * *', timezone: 'UTC' }
  const noon = Date.UTC(2026, 5, 1, 12)

  test('what was missed meanwhile is left out', () => {
    expect(occurrenceAfter(hourly, noon, noon + 5.5 * 3_600_000)).toBe(noon + 6 * 3_600_000)
  })

  test('it does not come again, should the clock have gone back', () => {
    expect(occurrenceAfter(hourly, noon, noon - 1)).toBe(noon + 3_600_000)
  })
})

test('an occurrence is skipped while the one before is scheduled, queued or running', () => {
  expect((['scheduled', 'queued', 'running'] as const).map(overlaps)).toEqual([true, true, true])
  expect(([null, 'completed', 'failed', 'cancelled'] as const).map(overlaps)).toEqual(Array(4).fill(false))
})
