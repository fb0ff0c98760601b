/** A reckoning of its own: the clock on the wall, five minutes by five minutes, by what Intl says of a zone. */

export interface Wall {
  minute: number
  hour: number
  weekday: number
  /** Of the month. */
  day: () => number
}

export interface Pattern {
  /** Made of multiples of five minutes. */
  matches: (wall: Wall) => boolean
  /**
   * One time of the day occurs once for each time on the wall: at the first of two, and after the gap when it was left
   * out. Any other pattern follows the clock as it goes.
   */
  fixedTime: boolean
}

const STEP = 5 * 60_000
const DAY = 86_400_000

/** All occurrences of each pattern, after `from` and before `until`, which are midnights of UTC. */
export function reckon(
  timezone: string,
  from: number,
  until: number,
  patterns: readonly Pattern[],
): number[][] {
  const found: number[][] = patterns.map(() => [])
  const offsetAt = offsets(timezone)
  let before = offsetAt(from)
  /** Up to here, times on the wall have been seen. */
  let seenUntil = from + before
  for (let day = from; day < until; day += DAY) {
    // The clocks change once a day at most.
    const constant = offsetAt(day) === offsetAt(day + DAY) ? offsetAt(day) : undefined
    for (let at = day; at < day + DAY; at += STEP) {
      const offset = constant ?? offsetAt(at)
      const now = wallOf(at + offset)
      const repeated = at + offset < seenUntil
      for (const [i, { matches, fixedTime }] of patterns.entries()) {
        const leftOut = fixedTime && offset > before && anyOf(at + before, at + offset, matches)
        if (at > from && (leftOut || (matches(now) && !(fixedTime && repeated)))) found[i]!.push(at)
      }
      seenUntil = Math.max(seenUntil, at + offset + STEP)
      before = offset
    }
  }
  return found
}

function anyOf(from: number, until: number, matches: Pattern['matches']): boolean {
  for (let wall = from; wall < until; wall += STEP) if (matches(wallOf(wall))) return true
  return false
}

/** 1 January 1970 was a Thursday. */
function wallOf(ms: number): Wall {
  return {
    minute: Math.floor(ms / 60_000) % 60,
    hour: Math.floor(ms / 3_600_000) % 24,
    weekday: (Math.floor(ms / DAY) + 4) % 7,
    day: () => new Date(ms).getUTCDate(),
  }
}

/** How far the clock on the wall is ahead of UTC. */
function offsets(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' })
  return (at) => {
    const text = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')!.value
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(text)!
    if (sign === undefined) return 0
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  }
}
