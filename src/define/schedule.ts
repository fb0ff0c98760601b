import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { nextOccurrence, type Schedule } from '../model/schedule.ts'
import { shown } from './names.ts'

/** A schedule, and what each of its tasks is given. */
export interface Recurrence extends Schedule {
  input: unknown
}

interface RecurrenceOptions {
  every?: unknown
  timezone?: unknown
  everyInput?: unknown
}

/** Below it, a loop inside one task is the better tool. */
const INTERVAL_MIN_MS = 1_000

const INTERVAL = /^[\d.]+(ms|s|m|h|d)$/
/** Five or six fields, or a nickname. Not a date, which would occur once. */
const CRON = /^(@[a-z]+|\S+(\s+\S+){4,5})$/

const HINT =
  "Use an interval of at least 1 s ('10m'), or a cron expression of 5 fields, or of 6 with seconds ('0 3 * * *')."

/** What a user said of recurring, checked; null when the task does not recur. */
export function checkRecurrence(options: RecurrenceOptions, what: string): Recurrence | null {
  const { every, everyInput: input } = options
  if (every === undefined) {
    for (const name of ['timezone', 'everyInput'] as const) {
      if (options[name] !== undefined) throw bad(`${what}: ${name} is given without every`, HINT)
    }
    return null
  }
  const text = typeof every === 'number' ? `${every}ms` : every
  if (typeof text !== 'string') throw bad(`${what}: every: ${shown(every)} is not a schedule`, HINT)
  const timezone = INTERVAL.test(text)
    ? checkInterval(text, options.timezone, what)
    : checkCron(text, options.timezone, what)
  return { every: text, timezone, input }
}

function checkInterval(every: string, timezone: unknown, what: string): null {
  if (timezone !== undefined) {
    throw bad(
      `${what}: an interval has no time zone`,
      'Remove timezone, or use a cron expression, e.g. 0 3 * * *.',
    )
  }
  if (durationMs(every, `${what}: every`) < INTERVAL_MIN_MS) {
    throw bad(`${what}: every: ${shown(every)} is too short`, HINT)
  }
  return null
}

function checkCron(every: string, timezone: unknown, what: string): string {
  const zone = timezone === undefined ? 'UTC' : checkTimezone(timezone, what)
  if (!CRON.test(every)) throw bad(`${what}: every: ${shown(every)} is not a schedule`, HINT)
  try {
    nextOccurrence({ every, timezone: zone }, 0)
  } catch (cause) {
    throw bad(`${what}: every: ${shown(every)} is not a schedule: ${(cause as Error).message}`, HINT, cause)
  }
  return zone
}

function checkTimezone(timezone: unknown, what: string): string {
  try {
    if (typeof timezone !== 'string') throw new TypeError('not a string')
    new Intl.DateTimeFormat('en', { timeZone: timezone })
    return timezone
  } catch (cause) {
    throw bad(
      `${what}: timezone: ${shown(timezone)} is not a time zone`,
      "Use a name of the IANA database, e.g. 'Europe/Berlin'.",
      cause,
    )
  }
}

function bad(message: string, hint: string, cause?: unknown): InputError {
  return new InputError(message, { code: 'BAD_SCHEDULE', hint, cause })
}
