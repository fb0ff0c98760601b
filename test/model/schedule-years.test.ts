import { describe, expect, test } from 'vitest'
import { nextOccurrence, occurrenceAfter, plannedAnew, type Schedule } from '../../src/model/schedule.ts'
import { type Pattern, reckon } from './calendar.ts'

const TEN_YEARS = [Date.UTC(2026, 0, 1), Date.UTC(2036, 0, 1)] as const

/** What nextOccurrence says, one after the other. */
function occurrences(schedule: Schedule, from: number, until: number): number[] {
  const found: number[] = []
  for (let at = nextOccurrence(schedule, from); at < until; at = nextOccurrence(schedule, at)) found.push(at)
  return found
}

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe', // half an hour of summer time
  'Asia/Kolkata', // half an hour from everybody, and no summer time
  'UTC',
]

/** A cron expression, and the same said in code. */
const PATTERNS: Record<string, Pattern> = {
  // Each in the middle of what some zone leaves out in spring and repeats in autumn.
  '30 2 * * *': { fixedTime: true, matches: ({ hour, minute }) => hour === 2 && minute === 30 },
  '45 1 * * *': { fixedTime: true, matches: ({ hour, minute }) => hour === 1 && minute === 45 },
  '15 2 * * 0': { fixedTime: true, matches: (t) => t.weekday === 0 && t.hour === 2 && t.minute === 15 },
  '0 9 1 * *': { fixedTime: true, matches: (t) => t.hour === 9 && t.minute === 0 && t.day() === 1 },
  '*/20 1-2 * * SUN': {
    fixedTime: false,
    matches: (t) => t.weekday === 0 && t.minute % 20 === 0 && (t.hour === 1 || t.hour === 2),
  },
  '15 */6 * * 0': {
    fixedTime: false,
    matches: (t) => t.weekday === 0 && t.minute === 15 && t.hour % 6 === 0,
  },
}

describe('ten years: each occurrence once, in order, in', () => {
  test.for(ZONES)('%s', (timezone) => {
    const [from, until] = TEN_YEARS
    const expected = reckon(timezone, from, until, Object.values(PATTERNS))
    for (const [i, every] of Object.keys(PATTERNS).entries()) {
      expect(expected[i]!.length).toBeGreaterThan(100)
      expect(occurrences({ every, timezone }, from, until), every).toEqual(expected[i])
    }
  })
})

test('what was planned stands as long as the clock goes on, through every change of summer time', () => {
  const HOUR_MS = 3_600_000
  for (const timezone of ZONES) {
    for (const every of Object.keys(PATTERNS)) {
      for (const change of [
        '2026-03-08',
        '2026-03-29',
        '2026-04-05',
        '2026-10-04',
        '2026-10-25',
        '2026-11-01',
      ]) {
        const schedule = { every, timezone }
        const start = Date.parse(change) - 12 * HOUR_MS
        let nextAt = nextOccurrence(schedule, start)
        for (let now = start; now < start + 36 * HOUR_MS; now += HOUR_MS / 4) {
          if (now >= nextAt) nextAt = occurrenceAfter(schedule, nextAt, now)
          else expect(plannedAnew(schedule, { nextAt, lastAt: null }, now), `${every} ${timezone}`).toBe(null)
        }
      }
    }
  }
})
