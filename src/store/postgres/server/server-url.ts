import { InputError } from '../../../errors.ts'

/** Which server is good enough: any that answers, one that accepts writes, one that is no standby. */
export type TargetServer = 'any' | 'read-write' | 'primary'

const TARGETS: readonly string[] = ['any', 'read-write', 'primary'] satisfies TargetServer[]

export interface Address {
  host: string
  port: number
}

/** A URL of PostgreSQL's own form, which may name several servers. */
export interface ServerUrl {
  /** One URL for each server, as the driver reads it. */
  urls: readonly [string, ...string[]]
  target: TargetServer
}

/** `postgres://user:password@one:5432,two:5433/app?target_session_attrs=read-write` */
const PARTS = /^(?<begin>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#@]*)(?<end>[/?#].*)?$/s

/** Never repeats the URL, which may hold a password. */
export function readServerUrl(url: string): ServerUrl {
  const { begin = '', hosts = '', end = '' } = PARTS.exec(url)?.groups ?? {}
  const several = hosts.split(',')
  const urls = several.length > 1 ? several.map((host) => `${begin}${host}${end}`) : [url]
  const areNamed = several.length === 1 || several.every((host) => host !== '')
  if (!areNamed || !urls.every(isReadable)) {
    throw new InputError('database: this is not a PostgreSQL URL', {
      code: 'BAD_CONFIG',
      hint: "Use 'postgres://user:password@host:5432/database'; encode special characters of the password.",
    })
  }
  return { urls: urls as [string, ...string[]], target: targetIn(urls[0]!, urls.length > 1) }
}

/** `postgres://…/app?schema=jobs` */
export function schemaIn(url: string): string | null {
  return new URL(readServerUrl(url).urls[0]).searchParams.get('schema')
}

/** Of several servers only one accepts writes, and the engine always writes. */
function targetIn(url: string, areSeveral: boolean): TargetServer {
  const target = new URL(url).searchParams.get('target_session_attrs') ?? (areSeveral ? 'read-write' : 'any')
  if (TARGETS.includes(target)) return target as TargetServer
  throw new InputError(`database: target_session_attrs=${target} is not valid`, {
    code: 'BAD_CONFIG',
    hint: "Gleaner writes: use 'read-write', 'primary' or 'any'.",
  })
}

function isReadable(url: string): boolean {
  try {
    const { username, password, hostname } = new URL(url)
    for (const part of [username, password, hostname]) decodeURIComponent(part)
    return url.startsWith(`${new URL(url).protocol}//`)
  } catch {
    return false
  }
}
