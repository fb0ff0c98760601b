import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { createInterface } from 'node:readline'
import { type ErrorCode, GleanerError, InputError } from '../errors.ts'
import { readExactly } from '../exact-json.ts'
import { LINES } from './protocol/progress-lines.ts'
import type { ErrorBody, ProgressLine } from './wire/types.ts'

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

type OnProgress = (soFar: any) => void

/** The API of a running server, as one who asks sees it. */
export interface Client {
  /** Where it is, without what is secret. */
  readonly place: string
  get<T>(path: string, query?: Query): Promise<T>
  /** `onProgress`: of what takes long. */
  post<T>(path: string, body?: unknown, onProgress?: OnProgress): Promise<T>
  delete(path: string): Promise<void>
}

interface Call {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Query
  body?: unknown
  onProgress?: OnProgress | undefined
}

/** `url` is where the server is, or where the API was mounted: `http://127.0.0.1:8356`, `https://example.com/ops`. */
export function connect(url: string, token: string | undefined): Client {
  const base = baseOf(url)
  const ask = (call: Call) => asked(base, token, call)
  return {
    place: base.href.replace(/\/$/, ''),
    get: async <T>(path: string, query?: Query) => (await ask({ method: 'GET', path, query })) as T,
    post: async <T>(path: string, body?: unknown, onProgress?: OnProgress) =>
      (await ask({ method: 'POST', path, body, onProgress })) as T,
    delete: async (path) => void (await ask({ method: 'DELETE', path })),
  }
}

function baseOf(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null
  if (base !== null && /^https?:$/.test(base.protocol) && base.username === '' && base.password === '') {
    base.search = base.hash = ''
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    return base
  }
  throw new InputError('this is not the address of a server', {
    code: 'BAD_OPTION',
    hint: 'Use http://host:port or https://host. Pass the token separately.',
  })
}

async function asked(base: URL, token: string | undefined, call: Call) {
  const { method, path, query, body, onProgress } = call
  const url = new URL(`api/v1/${path}`, base)
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
    ...(onProgress === undefined ? {} : { accept: `${LINES}, application/json` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const response = await sent(url, method, headers, text).catch((cause) => {
    throw away(base, cause)
  })
  const status = response.statusCode ?? 0
  if (onProgress !== undefined && response.headers['content-type']?.startsWith(LINES))
    return lastOf(response, base, onProgress)
  const answer = readAnswer(await bodyOf(response, base))
  if (status >= 200 && status < 300 && answer !== UNREADABLE) return answer
  throw refused(base, status, answer)
}

/** Not `fetch`, which gives up on an answer after five minutes: a bulk change may take longer. */
function sent(
  url: URL,
  method: string,
  headers: Record<string, string>,
  text: string | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? overHttps : overHttp
    send(url, { method, headers, agent: false }, resolve).on('error', reject).end(text)
  })
}

async function bodyOf(response: IncomingMessage, base: URL): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk)
  } catch (cause) {
    throw away(base, cause)
  }
  return Buffer.concat(chunks).toString()
}

/** The answer, after all that was told before. */
async function lastOf(response: IncomingMessage, base: URL, onProgress: OnProgress): Promise<unknown> {
  try {
    for await (const text of createInterface({ input: response })) {
      const line = readAnswer(text) as ProgressLine<unknown>
      if ('answer' in line) return line.answer
      if ('error' in line) throw refused(base, response.statusCode ?? 0, line)
      onProgress(line.progress)
    }
  } catch (cause) {
    throw cause instanceof GleanerError ? cause : away(base, cause)
  }
  throw away(base, new Error('the response ended too early'))
}

const UNREADABLE = Symbol('no JSON')

function readAnswer(text: string): unknown {
  if (text === '') return undefined
  try {
    return readExactly(text)
  } catch {
    return UNREADABLE
  }
}

/** What the server says, as the error that the library would throw. */
function refused(base: URL, status: number, answer: unknown): GleanerError {
  const { error } = (answer ?? {}) as Partial<ErrorBody>
  if (typeof error?.message !== 'string') {
    return new GleanerError(`${base.origin} answered ${status}, and is not a Gleaner server`, {
      code: 'SERVER_AWAY',
      hint: 'Check the address. A path may be missing, or a proxy may be in between.',
    })
  }
  const hint =
    error.code === 'UNAUTHORIZED' ? 'Pass --token, or set GLEANER_TOKEN.' : (error.hint ?? undefined)
  return new GleanerError(error.message, { code: error.code as ErrorCode, hint })
}

function away(base: URL, cause: unknown): GleanerError {
  const { code, message } = cause as { code?: string; message?: string }
  return new GleanerError(`${base.origin} does not answer: ${code ?? message ?? String(cause)}`, {
    code: 'SERVER_AWAY',
    hint: 'Check that `gleaner start` runs there, and that `server` is not false in its config.',
    cause,
  })
}
