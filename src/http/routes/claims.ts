import type { Socket } from 'node:net'
import { z } from 'zod'
import type { Duration } from '../../duration.ts'
import type { ClaimOptions } from '../../engine/gleaner.ts'
import { writeExactly } from '../../exact-json.ts'
import type { ClaimProof } from '../../store/ports/exchange.ts'
import type { HeldClaim } from '../../store/ports/sessions.ts'
import type { RemoteCaller, RemoteClaims } from '../../worker/claims/remote-claims.ts'
import type { Caller } from '../protocol/access.ts'
import {
  capabilities,
  claimId,
  component,
  durationField,
  fence,
  level,
  message,
  name,
} from '../protocol/fields.ts'
import { Problem } from '../protocol/problem.ts'
import { type Route, type RouteServices, route } from './route.ts'

const WAIT_MAX_MS = 30_000
const NAMES_MAX = 1_000
const LIMIT_MAX = 1_000

const names = z.array(name).max(NAMES_MAX)
const wish = z.strictObject({
  queues: names.optional().describe('Default: all that the caller may claim from'),
  names: names.optional().describe('Names of tasks. Default: all that the server knows'),
  discoveries: names.optional().describe('Discoveries whose rows to claim'),
  capabilities: capabilities.optional().describe('What the caller offers to tasks with `requires`'),
  limit: z.int().min(1).max(LIMIT_MAX).default(1),
  wait: durationField.default(0).describe("How long to wait for the first item: up to '30s'"),
  worker: component.optional().describe('The name of the caller, for people. Default: the name of its token'),
  lease: durationField
    .optional()
    .describe("How long the claims live without a call: '1s' to '10m'. Default '1m'"),
})

const item = z
  .object({
    id: z.string(),
    fence: z.int(),
    name: z.string(),
    queue: z.string().nullable().describe('Null for a row'),
    input: z.unknown().describe('The input of the task, or the row'),
    attempt: z.int(),
    leaseMs: z.int().describe('Call again within this time, or the item goes to another worker'),
    timeoutMs: z.int().describe('The time-out of the task'),
  })
  .meta({ id: 'ClaimedItem' })

const lease = z
  .object({
    leaseMs: z.int(),
    cancelled: z.boolean().describe('True: stop. The task was cancelled, or its time-out is over'),
  })
  .meta({ id: 'ClaimLease' })

const failure = z.strictObject({
  message,
  kind: z
    .enum(['error', 'permanent', 'resource'])
    .default('error')
    .describe('`permanent`: no retry helps. `resource`: the worker is broken, not the item'),
})

interface ClaimCall {
  remote: RemoteClaims
  proof: ClaimProof
  by: RemoteCaller
}

/** What may be said of one claim. `body`: what it takes beside the fence. */
interface Verb<B extends z.ZodRawShape> {
  verb: string
  summary: string
  body: B
  answer: z.ZodType | null
  act(call: ClaimCall, body: z.infer<z.ZodObject<B>>): Promise<unknown>
}

/** A proxy may decode or resolve the key of a row in an address: then its id goes into the body. */
function about<B extends z.ZodRawShape>({ verb, summary, body, answer, act }: Verb<B>): Route[] {
  const common = { method: 'post', role: 'worker', answer } as const
  const handle = (
    { inside }: RouteServices,
    { id, ...said }: { id: string; fence: number },
    caller: Caller,
  ) => {
    const call = { remote: inside.claims.remote, proof: { id, fence: said.fence }, by: remoteCaller(caller) }
    return act(call, said as unknown as z.infer<z.ZodObject<B>>)
  }
  return [
    route<{ id: string }, unknown, any>({
      ...common,
      path: `/claims/:id/${verb}`,
      summary,
      params: z.strictObject({ id: claimId }),
      body: z.strictObject({ fence, ...body }),
      handle: (desk, { params: { id }, body, caller }) => handle(desk, { id, ...body }, caller),
    }),
    route<unknown, unknown, any>({
      ...common,
      path: `/claims/${verb}`,
      summary: `The same as /claims/{id}/${verb} with the id in the body`,
      body: z.strictObject({ id: claimId, fence, ...body }),
      handle: (desk, { body, caller }) => handle(desk, body, caller),
    }),
  ]
}

export const claimRoutes: readonly Route[] = [
  route({
    method: 'post',
    path: '/claims',
    role: 'worker',
    summary: 'Claims tasks and rows, and waits for the first one',
    body: wish,
    answer: z.object({ items: z.array(item) }),
    waits: true,
    async handle({ inside: { claims }, closing }, { body, caller, request, socket }) {
      const asked = claims.remoteWish(allowed(body as ClaimOptions, caller), {
        caller: caller.user ?? '',
        host: caller.address ?? 'unknown',
      })
      if (asked.waitMs > WAIT_MAX_MS)
        throw new Problem(
          'BAD_REQUEST',
          `wait: ${asked.waitMs} ms is too long`,
          "Use at most '30s', and ask again.",
        )
      const { signal, stop } = goneSignal(request, socket)
      const items = await claims.remote.pull(asked, AbortSignal.any([signal, closing])).finally(stop)
      // What is to be worked on is not redacted.
      return new Response(writeExactly({ items }), {
        headers: { 'content-type': 'application/json; charset=utf-8' },
      })
    },
  }),
  ...about({
    verb: 'complete',
    summary: 'Completes an item',
    body: { result: z.unknown().optional() },
    answer: null,
    act: ({ remote, proof, by }, { result }) => remote.complete(proof, by, result),
  }),
  ...about({
    verb: 'fail',
    summary: 'Fails this attempt',
    body: {
      error: failure,
      retry: z
        .union([z.boolean(), durationField])
        .optional()
        .describe(
          'False: no further attempt. A duration: another attempt after it. Default: by the retry policy',
        ),
    },
    answer: null,
    act: ({ remote, proof, by }, { error, retry }) =>
      remote.fail(proof, by, error, { retry: retry as boolean | Duration | undefined }),
  }),
  ...about({
    verb: 'release',
    summary: 'Gives an item back unfinished. The attempt does not count',
    body: {},
    answer: null,
    act: ({ remote, proof, by }) => remote.release(proof, by),
  }),
  ...about({
    verb: 'progress',
    summary: 'Reports how far the work is, and renews the lease',
    body: { fraction: z.number().min(0).max(1), message: message.optional() },
    answer: lease,
    act: ({ remote, proof, by }, said) => remote.progress(proof, by, said),
  }),
  ...about({
    verb: 'log',
    summary: 'Writes a line to the log of the task, and renews the lease',
    body: { level: level.default('info'), message, details: z.record(z.string(), z.unknown()).optional() },
    answer: lease,
    act: ({ remote, proof, by }, said) => remote.log(proof, by, said),
  }),
  ...about({
    verb: 'renew',
    summary: 'Renews the lease, and tells whether to stop',
    body: {},
    answer: lease,
    act: ({ remote, proof, by }) => remote.renew(proof, by),
  }),
]

/** Only what the caller may pull; without names, all of that. */
function allowed(asked: ClaimOptions, caller: Caller): ClaimOptions {
  const isNamed = asked.queues !== undefined || asked.discoveries !== undefined
  if (caller.queues === null && caller.discoveries === null) return asked
  const {
    queues = isNamed ? [] : (caller.queues ?? undefined),
    discoveries = isNamed ? [] : (caller.discoveries ?? undefined),
  } = asked
  for (const queue of queues ?? []) checkPullable(caller, { queue, name: '' })
  for (const name of discoveries ?? []) checkPullable(caller, { queue: null, name })
  return { ...asked, queues, discoveries }
}

function remoteCaller(caller: Caller): RemoteCaller {
  return { caller: caller.user ?? '', check: (claim) => checkPullable(caller, claim) }
}

function checkPullable(
  { queues, discoveries }: Caller,
  { queue, name }: Pick<HeldClaim, 'queue' | 'name'>,
): void {
  const [what, one, may] = queue === null ? ['discovery', name, discoveries] : ['queue', queue, queues]
  if (may === null || may.includes(one)) return
  const hint = `The caller may claim from: ${may.join(', ') || 'nothing'}.`
  throw new Problem('FORBIDDEN', `this caller may not claim from the ${what} ${one}`, hint)
}

/** A caller that has gone away gets nothing: what it would have claimed goes to another one. */
function goneSignal(request: Request, socket: Socket | null): { signal: AbortSignal; stop: () => void } {
  // A server of the user's may pass on something that only has an address.
  if (typeof socket?.once !== 'function') return { signal: request.signal, stop: () => {} }
  const gone = new AbortController()
  const abort = () => gone.abort()
  if (socket.destroyed) abort()
  socket.once('close', abort)
  return { signal: gone.signal, stop: () => void socket.off('close', abort) }
}
