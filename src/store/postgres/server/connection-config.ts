import type pg from 'pg'
import { InputError } from '../../../errors.ts'
import type { PostgresOptions } from '../../ports/database.ts'
import { readServerUrl } from './server-url.ts'
import { startupSettings } from './settings.ts'
import { withTls } from './tls.ts'

/** A connection that is idle for that long is probed by the system, ten times, a second apart. */
const KEEP_ALIVE_AFTER_MS = 10_000

/** What every connection of a store has in common. Of several servers it names the first. */
export function connectionConfig(options: PostgresOptions): pg.ClientConfig {
  const { urls } = readServerUrl(options.url)
  if (!isPlainData(options.ssl)) {
    throw new InputError('postgres.ssl: a function cannot be used here', {
      code: 'BAD_OPTION',
      hint: 'The keeper renews the lease from a thread of its own, which gets plain data: use ca, cert, key, servername.',
    })
  }
  return {
    ...withTls(urls[0], options),
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    ...startupSettings(options),
    application_name: 'gleaner',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  }
}

function isPlainData(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
