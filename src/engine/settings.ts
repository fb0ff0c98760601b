import { shown } from '../define/names.ts'
import type { Telemetry } from '../define/telemetry.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { refuseUnknown } from '../options.ts'
import type { PostgresSettings, SizeLimits, TimingOptions } from './gleaner.ts'

const TIMINGS = [
  'lease',
  'sweep',
  'grace',
  'idleMin',
  'idleMax',
  'poll',
  'metrics',
  'repair',
  'prune',
  'query',
]

const STEP_BYTES = 262_144

export function checkLimits(limits: SizeLimits) {
  refuseUnknown(limits, ['stepBytes'], 'limits')
  const { stepBytes = STEP_BYTES } = limits
  if (!Number.isInteger(stepBytes) || stepBytes < 1)
    throw bad('limits.stepBytes', stepBytes, 'Use a number of bytes.')
  return { stepBytes }
}

export function checkTimings(timings: TimingOptions) {
  refuseUnknown(timings, TIMINGS, 'timings')
  const ms = (name: keyof TimingOptions, otherwise: Duration) =>
    durationMs(timings[name] ?? otherwise, `timings.${name}`)
  return {
    leaseMs: ms('lease', '30s'),
    sweepMs: ms('sweep', '2s'),
    graceMs: ms('grace', '5s'),
    idleMinMs: ms('idleMin', '1s'),
    idleMaxMs: ms('idleMax', '30s'),
    pollMs: ms('poll', '1s'),
    metricsMs: ms('metrics', '5s'),
    pruneMs: ms('prune', '1m'),
    repairMs: ms('repair', '30s'),
    queryMs: positive(ms('query', '20s'), 'timings.query'),
  }
}

function positive(ms: number, what: string): number {
  if (ms > 0) return ms
  throw bad(what, ms, "Use a duration such as '20s'.")
}

export function checkTelemetry(telemetry: unknown): Telemetry | undefined {
  const isOne = (one: Partial<Telemetry>) =>
    [one.enqueueing, one.running, one.continuing].every((verb) => typeof verb === 'function')
  if (telemetry === undefined || (telemetry !== null && isOne(telemetry))) return telemetry as Telemetry
  throw bad('telemetry', telemetry, "Use openTelemetry() of 'gleaner/telemetry'.")
}

const POSTGRES_OPTIONS = [
  'schema',
  'poolSize',
  'statementTimeout',
  'lockTimeout',
  'connectTimeout',
  'notify',
  'wakeTriggers',
  'ssl',
]

export function checkPostgres(settings: PostgresSettings) {
  refuseUnknown(settings, POSTGRES_OPTIONS, 'postgres')
  return postgresOptions(settings)
}

function postgresOptions({ statementTimeout, lockTimeout, connectTimeout, ...rest }: PostgresSettings) {
  const { poolSize } = rest
  if (poolSize !== undefined && (!Number.isInteger(poolSize) || poolSize < 2)) {
    throw bad('postgres.poolSize', poolSize, 'Use a whole number of at least 2.')
  }
  const ms = (value: Duration | undefined, what: string) =>
    value === undefined ? undefined : durationMs(value, `postgres.${what}`)
  return {
    ...rest,
    statementTimeoutMs: ms(statementTimeout, 'statementTimeout'),
    lockTimeoutMs: ms(lockTimeout, 'lockTimeout'),
    connectTimeoutMs: ms(connectTimeout, 'connectTimeout'),
  }
}

export function bad(what: string, value: unknown, hint: string): InputError {
  return new InputError(`${what}: ${shown(value)} is not valid`, { code: 'BAD_OPTION', hint })
}
