import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Gleaner } from '../engine/gleaner.ts'
import { InputError } from '../errors.ts'
import { type Api, type ApiOptions, createApi } from './api.ts'
import { limitConnections } from './connections.ts'
import { Problem, problemBody } from './protocol/problem.ts'
import { isLoopback } from './protocol/request-origin.ts'
import { TokenList } from './protocol/tokens.ts'

/** What `serve` takes. */
export interface ServeOptions extends ApiOptions {
  /** Default '127.0.0.1'. An address that other machines can reach requires a token. */
  host?: string
  /** Default 8356. 0 takes any free port. */
  port?: number
}

/** A server that listens. */
export interface RunningServer {
  /** `http://127.0.0.1:8356` */
  readonly url: string
  /** The port that it listens on. */
  readonly port: number
  /** Accepts no more requests, ends event streams, and waits up to 2 s for open requests. */
  close(): Promise<void>
}

export const PORT = 8356
const CLOSING_MS = 2_000
const TIDY_MS = 10
/** Node looks only every 30 s whether a time is over. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 }

/** Serves the API on a port of its own. Without tokens it serves this machine only. */
export async function serve(gleaner: Gleaner, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = PORT, ...rest } = options
  refuseOpenDoor(host, rest)
  const api = createApi(gleaner, { ...rest, hosts: [...(rest.hosts ?? []), host] })
  const server = createServer(LIMITS, nodeHandler(api))
  limitConnections(server)
  await listening(server, host, port)
  const address = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    close() {
      closing ??= closed(server, api)
      return closing
    },
  }
}

/** A handler for `http.createServer`, Express and Fastify. `prefix`: the path that the API is mounted under, if the framework does not remove it. */
export function nodeHandler(
  api: Pick<Api, 'fetch'>,
  { prefix = '' }: { prefix?: string } = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  const handle = getRequestListener(api.fetch, { overrideGlobalObjects: false })
  const before = prefix.replace(/\/$/, '')
  return (request: IncomingMessage & { originalUrl?: string }, response) => {
    request.originalUrl ??= request.url
    request.url = below(before, request.url ?? '/')
    if (DOTS.test(request.url ?? '')) return refuse(response)
    keepBody(request)
    void handle(request, response)
  }
}

/** `/opsx` is not below `/ops`. */
function below(prefix: string, url: string): string {
  const rest = url.startsWith(prefix) ? url.slice(prefix.length) : url
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}

/** Resolved, such an address would name something else: all rows instead of one. */
const DOTS = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i

function refuse(response: ServerResponse): void {
  const hint = 'Use the address of a route unchanged. Send the key of a row in the body.'
  const problem = new Problem('BAD_REQUEST', 'an address must not contain . or .. between slashes', hint)
  response.writeHead(400, { 'content-type': 'application/json; charset=utf-8', connection: 'close' })
  response.end(JSON.stringify(problemBody(problem)))
}

/** What somebody before us has read and parsed cannot be read again. */
function keepBody(request: IncomingMessage & { body?: unknown; rawBody?: unknown }): void {
  if (request.body === undefined || request.rawBody !== undefined || !request.readableEnded) return
  request.rawBody = Buffer.from(JSON.stringify(request.body))
}

function refuseOpenDoor(host: string, { tokens, authorize }: ApiOptions): void {
  if (isLoopback(host) || authorize !== undefined || !new TokenList(tokens).isEmpty) return
  throw new InputError(`server.host: ${host} would let every machine in`, {
    code: 'BAD_OPTION',
    hint: "Configure `server.tokens`, or serve this machine only with host '127.0.0.1'.",
  })
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new InputError(`the server cannot listen on ${host}:${port}: ${cause.message}`, {
          code: 'BAD_OPTION',
          hint: 'Stop the program that uses it, or choose another port: `server.port` in the config, or GLEANER_PORT.',
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
}

function closed(server: Server, api: Api): Promise<void> {
  return new Promise((resolve) => {
    const hurry = setTimeout(() => server.closeAllConnections(), CLOSING_MS)
    // A connection whose last answer has gone out would wait for another request.
    const tidy = setInterval(() => server.closeIdleConnections(), TIDY_MS)
    server.close(() => {
      clearTimeout(hurry)
      clearInterval(tidy)
      resolve()
    })
    api.close()
  })
}
