import { readExactly, writeExactly } from '../../src/exact-json.ts'
import type { ErrorBody, Info } from '../../src/http/wire/types.ts'
import { API } from './place.ts'
import { keepKey, keyOfSession, setSession } from './session.ts'

export type Method = 'GET' | 'POST' | 'DELETE'

/** An answer that is no success, or none at all (`OFFLINE`). */
export class ApiError extends Error {
  readonly code: string
  readonly hint: string | null
  readonly issues: readonly { path: string; message: string }[]

  constructor({ code, message, hint, issues = [] }: Omit<ErrorBody['error'], 'code'> & { code: string }) {
    super(message)
    this.code = code
    this.hint = hint
    this.issues = issues
  }
}

export async function ask<T>(path: string, method: Method = 'GET', body?: unknown): Promise<T> {
  const response = await send(path, { method, body: body === undefined ? undefined : writeExactly(body) })
  const text = await response.text()
  return (text === '' ? null : readExactly(text)) as T
}

/** Answers with a success, or throws. Also for what is no JSON. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (init.body !== undefined && init.body !== null) headers.set('content-type', 'application/json')
  const key = keyOfSession()
  if (key !== null) headers.set('gleaner-key', key)
  const response = await fetch(`${API}${path}`, { ...init, headers }).catch((error) => {
    if (init.signal?.aborted) throw error
    throw new ApiError({
      code: 'OFFLINE',
      message: 'the server does not answer',
      hint: 'Check that the server is running and that this machine can reach it.',
    })
  })
  if (response.ok) return response
  if (response.status === 401) setSession({ refused: true, info: null })
  throw new ApiError(await problemIn(response))
}

async function problemIn(response: Response): Promise<ErrorBody['error']> {
  const said = await response.json().catch(() => null)
  return said?.error ?? { code: 'INTERNAL', message: `the server answered ${response.status}`, hint: null }
}

/** Learns who we are; a refusal is part of the session. */
export async function introduce(): Promise<void> {
  const info = await ask<Info>('/info')
  setSession({ info: { ...info, ahead: info.now - Date.now() }, refused: false })
}

/** Why a sign-in failed. */
export function whyRefused({ code, message, hint }: ApiError): string {
  if (code === 'UNAUTHORIZED') return 'This token is wrong.'
  return hint === null ? message : `${message}. ${hint}`
}

/** Throws if the token is not known. */
export async function signIn(token: string): Promise<void> {
  await openSession(token)
  await introduce()
}

async function openSession(token: string): Promise<void> {
  const { key } = await ask<{ key: string }>('/session', 'POST', { token })
  keepKey(key)
}

export async function signOut(): Promise<void> {
  await ask('/session', 'DELETE')
  keepKey(null)
  setSession({ info: null, refused: true })
}

/** The address that `gleaner start` prints ends with `#token=…`. The token leaves the address bar and the history at once. */
export async function signInByAddress(): Promise<void> {
  const [, token] = /^#token=([\x21-\x7e]+)$/.exec(location.hash) ?? []
  if (token === undefined) return
  history.replaceState(history.state, '', location.pathname + location.search)
  await openSession(decodeURIComponent(token)).catch((cause) => {
    if (cause instanceof ApiError) setSession({ problem: whyRefused(cause) })
    throw cause
  })
}
