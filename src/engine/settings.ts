import { shown } from '../define/names.ts'
import type { Telemetry } from '../define/telemetry.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { checkTypes, declareDurations, declareOptions, refuseUnknown } from '../options.ts'
import type { PostgresSettings, SizeLimits, TimingOptions } from './gleaner.ts'

const LIMITS = declareOptions<SizeLimits>('limits', { stepBytes: true })

const TIMINGS = declareDurations<TimingOptions>('timings', {
  lease: '30s',
  sweep: '2s',
  grace: '5s',
  idleMin: '1s',
  idleMax: '30s',
  poll: '1s',
  metrics: '5s',
  prune: '1m',
  repair: '30s',
  query: '20s',
})

const STEP_BYTES = 262_144

export function checkLimits(limits: SizeLimits) {
  refuseUnknown(limits, LIMITS, 'limits')
  const { stepBytes = STEP_BYTES } = limits
  if (!Number.isInteger(stepBytes) || stepBytes < 1)
    throw bad('limits.stepBytes', stepBytes, 'Use a number of bytes.')
  return { stepBytes }
}

export function checkTimings(timings: TimingOptions) {
  const read = TIMINGS.read(timings, 'timings')
  return { ...read, queryMs: positive(read.queryMs, 'timings.query') }
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

const POSTGRES_OPTIONS = declareOptions<PostgresSettings>('postgres', {
  schema: true,
  poolSize: true,
  statementTimeout: true,
  lockTimeout: true,
  connectTimeout: true,
  notify: true,
  wakeTriggers: true,
  ssl: true,
})

export function checkPostgres(settings: PostgresSettings) {
  refuseUnknown(settings, POSTGRES_OPTIONS, 'postgres')
  checkTypes(settings, { schema: 'string', notify: 'boolean', wakeTriggers: 'boolean' }, 'postgres')
  if (typeof settings.ssl !== 'boolean') checkTypes(settings, { ssl: 'object' }, 'postgres')
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
