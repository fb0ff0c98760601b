import { shown } from '../define/names.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { lockUse } from '../model/database-use.ts'
import {
  type DatabaseUse,
  firstMinute,
  type Metrics,
  MINUTE_MS,
  type Readings,
  summarise,
} from '../model/metrics.ts'
import { declareOptions, refuseUnknown } from '../options.ts'
import type { Store } from '../store/ports/store.ts'
import type { Meter } from './meter.ts'

/** What `metrics()` covers. */
export interface MetricsOptions {
  /** What rates, error rate and durations are of; 1 minute to 1 day, default 5 minutes. */
  window?: Duration
}

const WINDOW_DEFAULT = '5m'
const WINDOW_MAX_MS = 24 * 60 * MINUTE_MS

/** What this process has counted so far is part of it; of other processes, what they have written down. */
export async function metricsOf(
  store: Pick<Store, 'admin' | 'maintenance' | 'lock'>,
  meter: Meter,
  options: MetricsOptions = {},
): Promise<Metrics> {
  const windowMs = checkOptions(options)
  await meter.flush()
  const readings = await store.admin.readMetrics(windowMs)
  const since = firstMinute(readings.now, windowMs)
  return { ...summarise(readings, since), database: await databaseUse(store, readings, since) }
}

async function databaseUse(
  { maintenance, lock }: Pick<Store, 'maintenance' | 'lock'>,
  readings: Readings,
  since: number,
): Promise<DatabaseUse | null> {
  if (lock === null) return null
  const { databaseBytes, walBytes } = await maintenance.sizes()
  return { bytes: databaseBytes, walBytes: walBytes ?? 0, ...lockUse(readings, since) }
}

const METRICS = declareOptions<MetricsOptions>('metrics', { window: true })

function checkOptions(options: MetricsOptions): number {
  refuseUnknown(options, METRICS, 'metrics')
  const windowMs = durationMs(options.window ?? WINDOW_DEFAULT, 'window')
  if (windowMs >= MINUTE_MS && windowMs <= WINDOW_MAX_MS) return windowMs
  throw bad(`window: ${shown(options.window)} is not valid`, "Use '1m' to '1d'.")
}

function bad(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
