/** Numbers and times, in few letters. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export function count(n: number): string {
  return Math.abs(n) < 100_000 ? whole.format(n) : compact.format(n)
}

/** Of few, also what is less than one. */
export function pace(value: number): string {
  return value >= 10 ? count(value) : String(Number(value.toPrecision(2)))
}

export function exactCount(n: number): string {
  return whole.format(n)
}

/** Per minute, or per second where that reads better. */
export function rate(perMinute: number): { value: string; unit: string } {
  if (perMinute >= 600) return { value: count(perMinute / 60), unit: 'per s' }
  return { value: perMinute >= 10 ? count(perMinute) : oneDigit.format(perMinute), unit: 'per min' }
}

export function percent(share: number): string {
  const value = share * 100
  return `${value === 0 || value >= 10 ? Math.round(value) : oneDigit.format(value)} %`
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Two units at most: `1 h 5 min`. */
export function duration(ms: number): string {
  const size = Math.max(0, ms)
  if (size < 1) return '0 ms'
  if (size < SECOND) return `${Math.round(size)} ms`
  if (size < 10 * SECOND) return `${oneDigit.format(size / SECOND)} s`
  if (size < MINUTE) return `${Math.floor(size / SECOND)} s`
  if (size < HOUR) return two(size, MINUTE, 'min', SECOND, 's')
  if (size < DAY) return two(size, HOUR, 'h', MINUTE, 'min')
  return two(size, DAY, 'd', HOUR, 'h')
}

function two(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const [many, rest] = [Math.floor(ms / large), Math.floor((ms % large) / small)]
  return rest === 0 || many >= 10 ? `${many} ${largeUnit}` : `${many} ${largeUnit} ${rest} ${smallUnit}`
}

/** One unit, for what need not be exact: `5 min`. */
export function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.max(1, Math.floor(ms / SECOND))} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`
}

export function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let [value, unit] = [n, 0]
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const clockShort = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

export function time(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  return isToday ? clock.format(at) : `${day.format(at)} ${clockShort.format(at)}`
}

/** What the server says in its own words has times for machines. */
export function localTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (iso) => time(Date.parse(iso)))
}

export function timeShort(at: number): string {
  return clockShort.format(at)
}

export function dayOf(at: number): string {
  return day.format(at)
}

export function fullTime(at: number): string {
  return full.format(at)
}

export function plural(n: number, word: string): string {
  return `${exactCount(n)} ${word}${n === 1 ? '' : 's'}`
}
