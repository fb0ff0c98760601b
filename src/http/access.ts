import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import { ROLES, type Role } from '../model/action.ts'
import { Problem } from './problem.ts'

export interface AccessOptions {
  /** Whoever knows one may do what its role allows. Without any, only this machine may, and may do everything. */
  tokens?: { operator?: string | null; viewer?: string | null }
  /** The server that the API is part of tells who asks; null: nobody it knows. */
  authorize?: (request: Request) => Authorized | Promise<Authorized>
  /** Names under which the server is reached, beside `localhost` and any address: `['jobs.example.com']`. */
  hosts?: readonly string[]
}

export type Authorized = Role | { role: Role; user: string } | null

export interface Caller {
  role: Role
  user: string | null
  address: string | null
}

/** A request, as far as it matters who sent it. */
export interface Visit {
  request: Request
  /** Of the other end of the connection; null: nobody knows. */
  address: string | null
}

/** Who may come in, and as what. Asked for every route, on the server. */
export class Access {
  readonly #tokens: { role: Role; digest: Buffer }[]
  readonly #authorize: AccessOptions['authorize']
  readonly #hosts: ReadonlySet<string> | null

  constructor({ tokens = {}, authorize, hosts }: AccessOptions) {
    this.#tokens = ROLES.flatMap((role) => {
      const token = tokens[role]
      return token === undefined || token === null
        ? []
        : [{ role, digest: digestOf(checkToken(role, token)) }]
    })
    this.#authorize = authorize
    // Somebody else's server has names of its own, and cookies belong to a name.
    this.#hosts =
      authorize !== undefined && hosts === undefined ? null : new Set((hosts ?? []).map(lowerCase))
  }

  /** A page of another site that calls itself our name (DNS rebinding) is told by the name it uses for us. */
  checkHost({ request }: Visit): void {
    const host = hostOf(request)
    if (this.#hosts === null || (host !== null && isOwnName(host, this.#hosts))) return
    throw new Problem(
      'BAD_HOST',
      `this server is not called ${shown(request.headers.get('host') ?? '')}`,
      'Use localhost or its address, or add the name to `hosts`.',
    )
  }

  async callerOf(visit: Visit): Promise<Caller> {
    const { request, address } = visit
    const bearer = bearerOf(request)
    const role = bearer === null ? null : this.#roleOf(bearer)
    if (role !== null) return { role, user: null, address }
    if (this.#authorize !== undefined) {
      const known = await this.#authorize(request)
      if (known !== null)
        return { address, ...(typeof known === 'string' ? { role: known, user: null } : known) }
    } else if (this.#tokens.length === 0 && isLocal(visit)) {
      return { role: 'operator', user: null, address }
    }
    throw new Problem(
      'UNAUTHORIZED',
      bearer === null ? 'who are you?' : 'this token is not known here',
      this.#tokens.length > 0
        ? 'Send the header Authorization: Bearer <token>.'
        : 'Without tokens only this machine is served, and nothing that came through a proxy: configure tokens.',
      { headers: { 'www-authenticate': 'Bearer' } },
    )
  }

  /** A page of another site may make a browser send this; it cannot make it send our token. */
  checkSite({ request }: Visit): void {
    const bearer = bearerOf(request)
    if (bearer !== null && this.#roleOf(bearer) !== null) return
    const site = request.headers.get('sec-fetch-site')
    const origin = request.headers.get('origin')
    if (site === null ? origin !== null && isSameHost(origin, request) : site === 'same-origin') return
    throw new Problem(
      'CROSS_SITE',
      'a change needs a token, or must come from a page of this server',
      'Send Authorization: Bearer <token>, or an Origin header with the address of this server.',
    )
  }

  /** Always compares with all, and in a time that does not depend on what was sent. */
  #roleOf(token: string): Role | null {
    const digest = digestOf(token)
    let found: Role | null = null
    for (const known of this.#tokens) if (timingSafeEqual(known.digest, digest)) found = known.role
    return found
  }
}

export function checkRole({ role }: Caller, needed: Role): void {
  if (ROLES.indexOf(role) >= ROLES.indexOf(needed)) return
  throw new Problem('FORBIDDEN', `a ${role} may not do this`, `It takes an ${needed}.`)
}

/** Of the same length for all, so that they can be compared. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function checkToken(role: Role, token: unknown): string {
  // What a header can carry.
  if (typeof token === 'string' && /^[\x21-\x7e]{1,1000}$/.test(token)) return token
  throw new InputError(`the ${role} token is not possible`, {
    code: 'BAD_OPTION',
    hint: 'Use letters, digits and signs without spaces, e.g. what `openssl rand -hex 32` prints.',
  })
}

function bearerOf(request: Request): string | null {
  return /^Bearer +(\S{1,1000})$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? null
}

/** It came from this machine, and nobody says that he only passes it on. */
function isLocal({ request, address }: Visit): boolean {
  return address !== null && isLoopback(address) && ![...request.headers.keys()].some(isForwarded)
}

const FORWARDED = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'x-cluster-client-ip', 'true-client-ip']

function isForwarded(header: string): boolean {
  return header.startsWith('x-forwarded') || header.startsWith('cf-') || FORWARDED.includes(header)
}

export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === '::1' || address === 'localhost'
}

/** An address cannot be rebound: only names can lie. */
function isOwnName(host: string, names: ReadonlySet<string>): boolean {
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || names.has(host)
}

function hostOf(request: Request): string | null {
  const given = request.headers.get('host')
  return given === null ? new URL(request.url).hostname : (urlOf(`http://${given}`)?.hostname ?? null)
}

function isSameHost(origin: string, request: Request): boolean {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const page = urlOf(origin)
  return page !== null && page.host !== '' && page.host === urlOf(`http://${host}`)?.host
}

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

function lowerCase(name: string): string {
  return name.toLowerCase()
}
