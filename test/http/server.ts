import { request as httpRequest } from 'node:http'
import { inject, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type RunningServer, type ServeOptions, serve } from '../../src/http/index.ts'
import { defineTask, type Gleaner, type GleanerOptions, openGleaner } from '../../src/index.ts'
import { tempDatabase } from '../temp-database.ts'

export const OPERATOR = 'the-operators-token'
export const VIEWER = 'the-viewers-token'

export const embed = defineTask({
  name: 'ml.embed',
  queue: 'ml',
  input: z.object({ path: z.string(), password: z.string().optional() }),
  run: async ({ path }, ctx) => {
    ctx.log.info('start', { path, token: 'abc' })
    if (path === 'bad') throw new Error('no such file')
    return { embedded: path, password: 'hunter2' }
  },
})
export const plain = defineTask({ name: 'plain', run: async () => {} })
export const nightly = defineTask({ name: 'nightly', every: '1d', run: async () => {} })

export interface Said {
  status: number
  body: any
  headers: Headers
}

export interface Call {
  method?: string
  body?: unknown
  /** As it is, instead of a body in JSON. */
  text?: string | Uint8Array
  token?: string | null
  headers?: Record<string, string>
}

export interface TestServer extends RunningServer {
  gleaner: Gleaner
  /** As a page of the server itself would ask, unless there is a token. */
  call(path: string, call?: Call): Promise<Said>
  get(path: string): Promise<any>
  post(path: string, body?: unknown): Promise<Said>
}

export async function openServer(
  options: ServeOptions = {},
  engine: Partial<GleanerOptions> = {},
): Promise<TestServer> {
  const gleaner = await openGleaner({
    database: `sqlite:${tempDatabase()}`,
    tasks: [embed, plain, nightly],
    ...engine,
  })
  const isClosed = options.tokens !== undefined || options.authorize !== undefined
  const server = await serve(gleaner, { port: 0, local: !isClosed, ...options })
  onTestFinished(async () => {
    await server.close()
    await gleaner.close()
  })
  const { tokens } = options
  const token = (tokens !== undefined && 'operator' in tokens && tokens.operator) || null
  const call = (path: string, one: Call = {}) => ask(server.url, path, { token, ...one })
  return {
    ...server,
    gleaner,
    call,
    get: async (path) => (await call(path)).body,
    post: (path, body) => call(path, { method: 'POST', body }),
  }
}

export async function ask(url: string, path: string, call: Call = {}): Promise<Said> {
  const { method = 'GET', body, text, token, headers = {} } = call
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url + path, {
    method,
    body: sent as never,
    headers: {
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token ? { authorization: `Bearer ${token}` } : { origin: new URL(url).origin }),
      ...headers,
    },
  })
  const said = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(said) : said }
}

/** With a Host header of one's own, which `fetch` does not allow. */
export function askAs(url: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(url + path, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

/** Of a request that came from this machine, to an app that nobody serves. */
export const LOCAL = { incoming: { socket: { remoteAddress: '127.0.0.1', setTimeout() {} } } }

/** Both stores; on PostgreSQL in a schema of the test's own. */
export const DATABASES = {
  sqlite: () => ({}),
  postgres: () => {
    const schema = `t_${crypto.randomUUID().replaceAll('-', '')}`
    return { database: inject('postgresUrl'), postgres: { schema, poolSize: 4 } }
  },
} satisfies Record<string, () => Partial<GleanerOptions>>
