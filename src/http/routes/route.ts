import type { Socket } from 'node:net'
import type { z } from 'zod'
import type { Gleaner } from '../../engine/gleaner.ts'
import type { Inside } from '../../engine/inside.ts'
import type { Role } from '../../model/action.ts'
import type { AlertLimits } from '../../model/alerts.ts'
import type { Hub } from '../events/hub.ts'
import type { Access, Caller } from '../protocol/access.ts'
import type { Lanes } from '../protocol/lanes.ts'

/** What routes work with. */
export interface RouteServices {
  gleaner: Gleaner
  inside: Inside
  access: Access
  /** Some fields are redacted. */
  hides: boolean
  hub: Hub
  startedAt: number
  /** From when on something is an alert. */
  alerts: AlertLimits
  /** What is known of workers over time. */
  lanes: Lanes
  /** Aborts when the API is closed: requests that wait for work end. */
  closing: AbortSignal
}

/** A request whose every part fits its schema. */
export interface RouteRequest<P = unknown, Q = unknown, B = unknown> {
  params: P
  query: Q
  body: B
  caller: Caller
  request: Request
  /** Null: nobody knows. */
  socket: Socket | null
  /** How far it is, for whoever wants to know. */
  tell: (soFar: unknown) => void
}

/**
 * One entry of the API: what validates a request is what the OpenAPI document says of it, and who may send it is checked for
 * each in the same place.
 */
export interface Route<P = any, Q = any, B = any> {
  method: 'get' | 'post' | 'delete'
  /** Under `/api/v1`. */
  path: string
  /** Null: no token is needed. */
  role: Role | null
  summary: string
  params?: z.ZodType<P>
  query?: z.ZodType<Q>
  body?: z.ZodType<B>
  /** Null: it has no body, or is no JSON. */
  answer: z.ZodType | null
  /** Default 200, or 204 where there is no answer. */
  status?: number
  /** Its name in the record of actions. A route that changes something has one. */
  action?: string
  /** What the record keeps of the body; default all of it. */
  details?(body: B): unknown
  /** The queues whose tasks it changes, for callers that may change only some; without it such callers are refused. */
  queues?(
    desk: RouteServices,
    asked: Pick<RouteRequest<P, Q, B>, 'params' | 'body'>,
  ): Promise<readonly string[] | null>
  /** The record that the answer belongs to: what is redacted in it is redacted in the answer, too. */
  about?(desk: RouteServices, asked: Pick<RouteRequest<P, Q, B>, 'params'>): Promise<unknown>
  /** What the body names, for the record of actions, beside what the address names. */
  target?(body: B): string
  /** It stays for one more release. */
  deprecated?: true
  /** It may take long, and tells how far it is. */
  tells?: true
  /** It waits for work: many of them must not keep others from their turn. */
  waits?: true
  /** A Response goes out as it is. */
  handle(desk: RouteServices, asked: RouteRequest<P, Q, B>): unknown
}

/** Infers what the handler is given from the schemas. */
export function route<P, Q, B>(one: Route<P, Q, B>): Route {
  return one
}
