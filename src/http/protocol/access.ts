import type { Tokens } from '../../config/tokens.ts'
import type { Authorize, Authorized } from '../../config/types.ts'
import { shown } from '../../define/names.ts'
import type { Role } from '../../model/action.ts'
import { Problem } from './problem.ts'
import {
  cookieOf,
  hostOf,
  isForwarded,
  isLoopback,
  isOwnName,
  isSameHost,
  KEY_HEADER,
} from './request-origin.ts'
import { type BrowserSession, type KnownToken, TokenList } from './tokens.ts'
import { WrongTokens } from './wrong-tokens.ts'

/** The callers that the API accepts. */
export interface AccessOptions {
  /** Callers that send one of these tokens are let in, with its role. */
  tokens?: Tokens
  /** Decides for each request: for servers that already know their users, and for proxies that name the user in a header. */
  authorize?: Authorize
  /** True: a request from this machine that no proxy forwarded needs no token, and is an operator's. All users of the machine can send one. */
  local?: boolean
  /** Names under which the server is reached, beside `localhost` and any address: `['jobs.example.com']`. */
  hosts?: readonly string[]
}

export interface Caller {
  role: Role
  /** A user of `authorize`, or the name of a token. */
  user: string | null
  address: string | null
  /** A cookie of ours says who it is. */
  signedIn: boolean
  /** The only queues whose tasks this caller may change; null: all. */
  queues: readonly string[] | null
  /** The only discoveries whose rows this caller may pull; null: all. */
  discoveries: readonly string[] | null
  /** The only actions this caller may take, e.g. `tasks.retry`; null: all of the role. */
  actions: readonly string[] | null
}

/** A request, as far as it matters who sent it. */
export interface Visit {
  request: Request
  /** Of the other end of the connection; null: unknown. */
  address: string | null
}

/** Decides who sent a request. Asked for every route, on the server. */
export class Access {
  readonly #tokens: TokenList
  readonly #authorize: AccessOptions['authorize']
  readonly #local: boolean
  readonly #hosts: ReadonlySet<string> | null
  readonly #wrong: WrongTokens

  constructor(
    { tokens, authorize, local = false, hosts }: AccessOptions,
    onProblem: (message: string, error: unknown) => void,
  ) {
    this.#tokens = new TokenList(tokens)
    this.#authorize = authorize
    this.#local = local
    this.#wrong = new WrongTokens(onProblem)
    // A server with `authorize` is an app's own, with names of its own, and cookies belong to a name.
    this.#hosts =
      authorize !== undefined && hosts === undefined
        ? null
        : new Set((hosts ?? []).map((name) => name.toLowerCase()))
  }

  /** A page of another site that calls itself our name (DNS rebinding) is recognised by the name it uses for us. */
  checkHost({ request }: Visit): void {
    const host = hostOf(request)
    if (this.#hosts === null || (host !== null && isOwnName(host, this.#hosts))) return
    throw new Problem(
      'BAD_HOST',
      `this server does not have the name ${shown(request.headers.get('host') ?? '')}`,
      'Use localhost or its IP address, or add the name to `server.hosts`.',
    )
  }

  async callerOf(visit: Visit): Promise<Caller> {
    const { request, address } = visit
    const bearer = bearerOf(request)
    if (bearer !== null) {
      const known = this.#tokens.byToken(bearer)
      if (known !== null) return callerWith(known, address)
    }
    const cookie = cookieOf(request)
    const key = request.headers.get(KEY_HEADER) ?? ''
    const signedIn = cookie === null ? null : this.#tokens.bySession({ cookie, key })
    if (bearer === null && signedIn !== null) return { ...callerWith(signedIn, address), signedIn: true }
    const authorized = (await this.#authorize?.(request)) ?? null
    if (authorized !== null) return callerFrom(authorized, address)
    if (bearer === null && this.#local && isLocal(visit))
      return { ...UNLIMITED, role: 'operator', user: null, address }
    // A cookie can be guessed as well as a token.
    if (bearer !== null || cookie !== null) throw await this.#wrongToken(address)
    throw new Problem('UNAUTHORIZED', 'this request has no token', this.#hint(), UNAUTHORIZED)
  }

  /** For the routes that need no token. */
  anyone({ address }: Visit): Caller {
    return { role: 'viewer', user: null, address, signedIn: false, queues: [], discoveries: [], actions: [] }
  }

  /** What the browser keeps instead of the token. */
  async signIn(token: string, { address }: Visit): Promise<BrowserSession> {
    const known = this.#tokens.byToken(token)
    if (known === null) throw await this.#wrongToken(address)
    return known.session
  }

  async #wrongToken(address: string | null): Promise<Problem> {
    await this.#wrong.slowDown(address)
    return new Problem('UNAUTHORIZED', 'this token is not known here', this.#hint(), UNAUTHORIZED)
  }

  #hint(): string {
    if (!this.#tokens.isEmpty) return 'Send the header Authorization: Bearer <token>.'
    if (this.#authorize !== undefined) return 'Sign in to the app that this server is part of.'
    return 'This server refuses all requests until it is given `tokens`, `authorize` or `local: true`.'
  }
}

/**
 * A page of another site can make a browser send a request with our cookie. Browsers say where a request comes from; a request
 * that says nothing of it is not a browser's.
 */
export function checkSite({ request }: Visit): void {
  const site = request.headers.get('sec-fetch-site')
  const origin = request.headers.get('origin')
  if (site === null && origin === null) return
  if (site === 'same-origin' || site === 'none') return
  if (origin !== null && isSameHost(origin, request)) return
  throw new Problem(
    'CROSS_SITE',
    'this change comes from a page of another site',
    'Send it from a page of this server, or from a program without the headers Origin and Sec-Fetch-Site. Behind a proxy, pass the Host header on unchanged.',
  )
}

/** Which routes a caller may use, by the role that they need. */
const MAY: Record<Role, readonly Role[]> = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator', 'worker'],
  worker: ['worker'],
}

export function checkRole({ role }: Caller, needed: Role): void {
  if (MAY[role].includes(needed)) return
  throw new Problem('FORBIDDEN', `a ${role} may not do this`, `The role ${needed} is needed.`)
}

export function checkAction({ actions }: Caller, action: string): void {
  if (actions === null || actions.includes(action)) return
  throw new Problem(
    'FORBIDDEN',
    `this caller may not do ${action}`,
    `The caller may do: ${actions.join(', ') || 'nothing'}. \`authorize\` decides this.`,
  )
}

/** `touched`: the queues that a change is about; null: more than some queues. */
export function checkQueueAccess({ queues }: Caller, touched: readonly string[] | null): void {
  if (queues === null || touched?.every((queue) => queues.includes(queue))) return
  throw new Problem(
    'FORBIDDEN',
    touched === null
      ? 'this caller may change only single queues'
      : `this caller may not change tasks of the queue ${touched.find((queue) => !queues.includes(queue))}`,
    `The caller may change tasks of: ${queues.join(', ') || 'no queue'}. Name one of these queues.`,
  )
}

const UNLIMITED = { queues: null, discoveries: null, actions: null, signedIn: false }
const UNAUTHORIZED = { headers: { 'www-authenticate': 'Bearer' } }

function callerWith({ name, role, ...limits }: KnownToken, address: string | null): Caller {
  return { role, user: name, address, signedIn: false, ...pullableBy(role, limits), actions: null }
}

function callerFrom(authorized: NonNullable<Authorized>, address: string | null): Caller {
  if (typeof authorized === 'string')
    return { ...UNLIMITED, ...pullableBy(authorized, UNLIMITED), role: authorized, user: null, address }
  const { role, user, actions } = authorized
  const queues = listOrAll(authorized.queues, 'queues')
  const discoveries = listOrAll(authorized.discoveries, 'discoveries')
  const limits = { ...pullableBy(role, { queues, discoveries }), actions: listOrAll(actions, 'actions') }
  return { role, user, address, signedIn: false, ...limits }
}

/** A worker may pull only what is named. Whoever is limited to some queues may pull no rows that are not named. */
function pullableBy(
  role: Role,
  { queues, discoveries }: Pick<Caller, 'queues' | 'discoveries'>,
): Pick<Caller, 'queues' | 'discoveries'> {
  if (role === 'worker') return { queues: queues ?? [], discoveries: discoveries ?? [] }
  return { queues, discoveries: discoveries ?? (queues === null ? null : []) }
}

/** A text has `includes`, too, and would let in every part of itself. */
function listOrAll(limit: readonly string[] | null | undefined, name: string): readonly string[] | null {
  if (limit === undefined || limit === null) return null
  if (Array.isArray(limit)) return limit
  throw new TypeError(`authorize returned ${name}: ${shown(limit)}, which is not a list`)
}

function bearerOf(request: Request): string | null {
  return /^Bearer +(\S{1,1000})$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? null
}

/** It came from this machine, and no header says that a proxy forwarded it. */
function isLocal({ request, address }: Visit): boolean {
  return address !== null && isLoopback(address) && ![...request.headers.keys()].some(isForwarded)
}
