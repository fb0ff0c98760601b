import { isIP } from 'node:net'

/** What a request says of where it comes from and where it goes. */

const FORWARDED = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'true-client-ip']

export function isForwarded(header: string): boolean {
  return header.startsWith('x-forwarded') || header.startsWith('cf-') || FORWARDED.includes(header)
}

export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === '::1' || address === 'localhost'
}

/** An address cannot be rebound: only names can lie. */
export function isOwnName(host: string, names: ReadonlySet<string>): boolean {
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || names.has(host)
}

export function hostOf(request: Request): string | null {
  const given = request.headers.get('host')
  return given === null ? new URL(request.url).hostname : (urlOf(`http://${given}`)?.hostname ?? null)
}

export function isSameHost(origin: string, request: Request): boolean {
  const page = urlOf(origin)
  return page !== null && page.host !== '' && page.host === urlOf(`http://${fullHostOf(request)}`)?.host
}

/** The header of a signed-in browser, beside its cookie. */
export const KEY_HEADER = 'gleaner-key'

export function cookieOf(request: Request): string | null {
  const name = cookieName(request)
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2)
    if (found === name && value && value.length <= 1_000) return value
  }
  return null
}

/** Browsers share cookies between the ports of a host; two servers on one machine must not sign each other out. */
export function cookieName(request: Request): string {
  const { port } = urlOf(`http://${fullHostOf(request)}`) ?? { port: '' }
  return port === '' ? 'gleaner' : `gleaner-${port}`
}

function fullHostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}
