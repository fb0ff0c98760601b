import { startPostgres } from '../../test/postgres-process.ts'
import type { WorkplaceOptions } from './workplace.ts'

/**
 * Safe as installed: fsync and synchronous_commit stay on. More memory than the default of 128 MB, and checkpoints far
 * enough apart that they come between measurements, where the workplace asks for them, and not within one.
 */
const SETTINGS = [
  // A peer opens 25 for each of 32 processes.
  'max_connections=1000',
  'shared_buffers=512MB',
  'max_wal_size=8GB',
  'checkpoint_timeout=30min',
]
/** Nobody reads the figures of a quick run. */
const QUICK_SETTINGS = [...SETTINGS, 'fsync=off']

/** A real server with its data on the disk of the run; GLEANER_BENCH_POSTGRES_URL names one's own. */
export async function startServer(
  home: string,
  { quick }: WorkplaceOptions,
): Promise<{ url: string; stop(): Promise<void> }> {
  const own = process.env.GLEANER_BENCH_POSTGRES_URL
  if (own !== undefined) return { url: own, stop: async () => {} }
  const settings = quick ? QUICK_SETTINGS : SETTINGS
  return startPostgres(
    home,
    settings.flatMap((setting) => ['-c', setting]),
  )
}
