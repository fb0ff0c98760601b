import { durationMs } from '../../duration.ts'
import { text, UsageError, type Values } from './command.ts'

/** What an option's value must be: checked when it is parsed, before anything is opened. */
type Check = (value: string, flag: string) => void

export function aCount(most: number): Check {
  return (value, flag) => {
    if (/^\d{1,9}$/.test(value) && Number(value) >= 1 && Number(value) <= most) return
    throw new UsageError(`${flag}: ${value} is not valid`, `Use a whole number from 1 to ${most}.`)
  }
}

const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/

export const aDuration: Check = (value, flag) => {
  if (DURATION.test(value)) return
  throw new UsageError(`${flag}: ${value} is not a duration`, 'Use 250ms, 5s, 2m, 1h or 7d.')
}

export const aTime: Check = (value, flag) => {
  if (DURATION.test(value) || dateOf(value) !== null) return
  throw new UsageError(
    `${flag}: ${value} is not a time`,
    'Use a date (2026-11-15T20:00:00Z), or how long ago: 30m, 2h, 7d.',
  )
}

const REQUIREMENTS = /^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/

export const areRequirements: Check = (value, flag) => {
  if (REQUIREMENTS.test(value)) return
  throw new UsageError(`${flag}: ${value} is not a requirement`, 'Use name=value, e.g. region=eu,gpu=true.')
}

export function requirementsOf(option: string, values: Values): Record<string, string> | undefined {
  const given = text(values[option])
  if (given === undefined) return undefined
  return Object.fromEntries(
    given.split(',').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
}

export function countOf(option: string, values: Values): number | undefined {
  const given = text(values[option])
  return given === undefined ? undefined : Number(given)
}

export function durationOf(option: string, values: Values): number | undefined {
  const given = text(values[option])
  return given === undefined ? undefined : durationMs(given, `--${option}`)
}

/** A date, or so long ago. */
export function timeOf(option: string, values: Values, now: number): number | undefined {
  const given = text(values[option])
  if (given === undefined) return undefined
  return dateOf(given) ?? Math.max(0, now - durationMs(given, `--${option}`))
}

function dateOf(value: string): number | null {
  const at = /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) || at < 0 ? null : at
}
