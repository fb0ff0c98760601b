import { InputError } from '../../../errors.ts'
import type { PostgresOptions } from '../../ports/database.ts'

/** Parameters of a URL with which the driver would replace the `ssl` option. */
const PARAMETERS = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'uselibpqcompat']
const FILES = ['sslcert', 'sslkey', 'sslrootcert']
const OFF = new Set(['disable', 'false', '0'])

/** The `ssl` option wins over the URL. If the two contradict each other, neither is used. */
export function withTls(
  url: string,
  { ssl }: PostgresOptions,
): { connectionString: string; ssl?: boolean | object } {
  if (ssl === undefined) return { connectionString: url }
  const parsed = new URL(url)
  const { searchParams } = parsed
  const contradiction = contradictionOf(searchParams, ssl)
  if (contradiction !== null) {
    throw new InputError(`postgres.ssl and the database URL contradict each other: ${contradiction}`, {
      code: 'BAD_CONFIG',
      hint: 'Remove the TLS parameters from the URL, or remove postgres.ssl.',
    })
  }
  for (const parameter of PARAMETERS) searchParams.delete(parameter)
  return { connectionString: parsed.href, ssl }
}

function contradictionOf(url: URLSearchParams, ssl: boolean | object): string | null {
  for (const file of FILES) {
    if (url.has(file)) return `the URL has ${file}, which postgres.ssl replaces`
  }
  for (const parameter of ['sslmode', 'ssl']) {
    const value = url.get(parameter)
    if (value === null) continue
    const isOn = !OFF.has(value)
    if (isOn !== (ssl !== false))
      return `the URL says ${parameter}=${value}, postgres.ssl turns TLS ${isOn ? 'off' : 'on'}`
    if (value.startsWith('verify-') && isUnverified(ssl)) {
      return `the URL says ${parameter}=${value}, postgres.ssl has rejectUnauthorized: false`
    }
  }
  return null
}

function isUnverified(ssl: boolean | object): boolean {
  return typeof ssl === 'object' && 'rejectUnauthorized' in ssl && ssl.rejectUnauthorized === false
}
