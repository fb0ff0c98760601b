import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { writeExactly } from '../exact-json.ts'
import {
  type Caller,
  checkAction,
  checkQueueAccess,
  checkRole,
  checkSite,
  type Visit,
} from './protocol/access.ts'
import {
  problemBody as errorBodyOf,
  httpStatusOf,
  Problem,
  problemOf,
  STORE_FAILED,
  UNFORESEEN,
} from './protocol/problem.ts'
import { inLines, type LineFormat, wantsLines } from './protocol/progress-lines.ts'
import type { Redact } from './protocol/redact.ts'
import { bodyOf, check, queryOf } from './protocol/request.ts'
import type { RequestTurns } from './protocol/turns.ts'
import type { Route, RouteRequest, RouteServices } from './routes/route.ts'

export interface ApiPipeline {
  desk: RouteServices
  redact: Redact
  turns: RequestTurns
  bodyLimit: number
  onProblem: (message: string, error: unknown) => void
}

/** No script but our own files, no frame around us, nothing guessed, nothing kept. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

/** Bytes of a request that needs no token: many of them must not fill the memory. */
const OPEN_BODY_LIMIT = 8 * 1024

/** What somebody wants, before there is anything to tell of it. */
type Question = Omit<RouteRequest, 'tell'>

/** Steps of a route's answer, in the order that keeps the unknown out. */
export function answering(route: Route, office: ApiPipeline): (c: Context) => Promise<Response> {
  return (c) =>
    answerOrProblem(office, async () => {
      const visit = visitOf(c)
      const caller = await admitted(office, route, visit)
      const asked: Question = {
        params: check(route.params, c.req.param(), 'path'),
        query: check(route.query, queryOf(visit.request), 'query'),
        body: check(route.body, await bodyIn(route, visit, office), 'body'),
        caller,
        request: visit.request,
        socket: visit.socket,
      }
      refuseUnaskedQuery(route, visit)
      await checkScope(office, route, asked)
      await noted(office, route, asked)
      const work = (tell: RouteRequest['tell']) =>
        inTurn(route, office, () => done(route, office, { ...asked, tell }))
      if (route.tells && wantsLines(visit.request)) return inLines(work, wordingOf(office))
      const answer = await work(() => {})
      if (answer instanceof Response) return answer
      const status = route.status ?? (route.answer === null ? 204 : 200)
      if (status === 204) return new Response(null, { status })
      return json(
        office,
        answer,
        status,
        office.desk.hides ? await route.about?.(office.desk, asked) : undefined,
      )
    })
}

/** A sign-in reads nothing of the store, and waits when its token is wrong: that must not hold up callers with a right one. */
function inTurn<T>({ role, waits }: Route, { turns }: ApiPipeline, work: () => Promise<T>): Promise<T> {
  return role === null || waits ? work() : turns.take(work)
}

/** Who acts looks at what comes of it, also when it failed half-way. */
async function done(route: Route, office: ApiPipeline, asked: RouteRequest): Promise<unknown> {
  try {
    return await handled(route, office, asked)
  } finally {
    if (route.action !== undefined) office.desk.hub.acted()
  }
}

/** What is enqueued belongs to the trace that the request is a part of. */
async function handled(route: Route, { desk }: ApiPipeline, asked: RouteRequest): Promise<unknown> {
  const { tracing } = desk.inside
  if (tracing === undefined || route.method === 'get') return route.handle(desk, asked)
  const headers = Object.fromEntries(asked.request.headers)
  return tracing.inside(
    (work) => tracing.telemetry.continuing(headers, work),
    () => route.handle(desk, asked),
  )
}

/** Whatever happens becomes an answer. */
export async function answerOrProblem(office: ApiPipeline, work: () => Promise<Response>): Promise<Response> {
  const response = await work().catch((error) => failed(office, error))
  for (const [name, value] of Object.entries(HEADERS)) {
    // Files of the dashboard never change under their name.
    if (name !== 'cache-control' || !response.headers.has(name)) response.headers.set(name, value)
  }
  return response
}

function failed(office: ApiPipeline, error: unknown): Response {
  const problem = foreseen(office, error)
  const { code, headers } = problem
  const response = json(office, errorBodyOf(problem), httpStatusOf(code))
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

function foreseen({ onProblem }: ApiPipeline, error: unknown): Problem {
  const problem = problemOf(error)
  if (problem === null || httpStatusOf(problem.code) === 500) onProblem('a request failed', error)
  // What the database says may be of no business of whoever asked.
  if (problem?.code === 'STORE_FAILED') return STORE_FAILED
  return problem ?? UNFORESEEN
}

function wordingOf(office: ApiPipeline): LineFormat {
  return {
    write: (line) => writeExactly(office.redact(line)),
    failed: (error) => errorBodyOf(foreseen(office, error)),
  }
}

function json({ redact }: ApiPipeline, value: unknown, status: number, about?: unknown): Response {
  return new Response(writeExactly(redact(value, about)), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
}

export async function admitted(
  { desk: { access } }: ApiPipeline,
  { role, method }: Pick<Route, 'role' | 'method'>,
  visit: Visit,
): Promise<Caller> {
  access.checkHost(visit)
  const caller = role === null ? access.anyone(visit) : await access.callerOf(visit)
  if (role !== null) checkRole(caller, role)
  if (method !== 'get') checkSite(visit)
  return caller
}

/** What an operator may not do although the role allows it. */
async function checkScope(
  { desk }: ApiPipeline,
  route: Route,
  { params, body, caller }: Question,
): Promise<void> {
  if (route.action === undefined) return
  checkAction(caller, route.action)
  if (caller.queues !== null) checkQueueAccess(caller, (await route.queues?.(desk, { params, body })) ?? null)
}

export function visitOf(c: Context): Visit & { socket: Socket | null } {
  const socket: Socket | null = c.env?.incoming?.socket ?? null
  return { request: c.req.raw, address: socket?.remoteAddress ?? null, socket }
}

async function bodyIn(
  { method, body, role }: Route,
  { request }: Visit,
  { bodyLimit }: ApiPipeline,
): Promise<unknown> {
  if (method === 'get') return undefined
  const sent = await bodyOf(request, role === null ? Math.min(OPEN_BODY_LIMIT, bodyLimit) : bodyLimit)
  if (body !== undefined) return sent ?? {}
  if (sent === undefined || (typeof sent === 'object' && sent !== null && Object.keys(sent).length === 0))
    return
  throw new Problem('BAD_REQUEST', 'body: this route takes no body', 'Leave the body out.')
}

function refuseUnaskedQuery(route: Route, { request }: Visit): void {
  if (route.query !== undefined || Object.keys(queryOf(request)).length === 0) return
  throw new Problem('BAD_REQUEST', 'query: this route takes no parameters', 'Leave them out.')
}

/** Before it is done: nothing is done that nobody knows of. */
async function noted(
  { desk, redact }: ApiPipeline,
  route: Route,
  { params, body, caller }: Question,
): Promise<void> {
  if (route.action === undefined || (body as { dryRun?: boolean } | undefined)?.dryRun === true) return
  const named = Object.values((params ?? {}) as Record<string, string>)
  const target = [...named, ...(route.target === undefined ? [] : [route.target(body)])].join('/')
  const { role, user, address } = caller
  await desk.inside.store.admin.noteAction({
    action: route.action,
    target: target === '' ? null : target,
    role,
    user,
    address,
    details: redact((route.details === undefined ? body : route.details(body)) ?? null),
  })
}
