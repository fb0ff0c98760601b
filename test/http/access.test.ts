import { describe, expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/http/api.ts'
import { serve } from '../../src/http/index.ts'
import { openTemp } from '../temp-database.ts'
import { ask, askAs, OPERATOR, openServer, VIEWER } from './server.ts'

const tokens = { operator: OPERATOR, viewer: VIEWER }
const WORKER = 'the-workers-token'
const allRoles = [
  { name: 'operator', role: 'operator', token: OPERATOR },
  { name: 'viewer', role: 'viewer', token: VIEWER },
  { name: 'worker', role: 'worker', token: WORKER, queues: ['default'] },
] as const

/** Every entry of the API, and those beside it; `:name` is somebody there is not. */
const ENTRIES = [
  ...ROUTES.filter(({ role }) => role !== null).map(({ method, path, role }) => ({
    method: method.toUpperCase(),
    path: `/api/v1${path}`,
    role,
  })),
  { method: 'GET', path: '/api/v1/openapi.json', role: 'viewer' },
  { method: 'GET', path: '/metrics', role: 'viewer' },
].map((entry) => ({ ...entry, path: entry.path.replaceAll(/:\w+/g, 'x1') }))

/** Whether whoever asks so is let in: what comes of it then is the route's business. */
async function isLetIn(url: string, { method, path }: (typeof ENTRIES)[number], token: string | null) {
  const response = await fetch(url + path, {
    method,
    headers: { ...(token === null ? { origin: url } : { authorization: `Bearer ${token}` }) },
  })
  await response.body?.cancel()
  return response.status !== 401 && response.status !== 403
}

describe('every route is for its role', () => {
  test('with tokens: operators everywhere, viewers where nothing changes, others nowhere', async () => {
    const { url } = await openServer({ tokens: allRoles })
    const letIn = []
    const expected = []
    for (const entry of ENTRIES) {
      const say = (who: string) => `${who}: ${entry.method} ${entry.path}`
      expected.push(
        say('operator'),
        ...(['viewer', 'worker'].includes(entry.role!) ? [say(entry.role!)] : []),
      )
      if (await isLetIn(url, entry, OPERATOR)) letIn.push(say('operator'))
      if (await isLetIn(url, entry, VIEWER)) letIn.push(say('viewer'))
      if (await isLetIn(url, entry, WORKER)) letIn.push(say('worker'))
      if (await isLetIn(url, entry, null)) letIn.push(say('nobody'))
    }
    // At the same time, because wrong tokens wait for their answer.
    const wrong = await Promise.all(ENTRIES.map((entry) => isLetIn(url, entry, 'wrong')))
    expect(wrong).not.toContain(true)
    expect(letIn).toEqual(expected)
    expect(ENTRIES.filter(({ method, role }) => method !== 'GET' && role === 'viewer')).toEqual([])
  })

  test("with `local` a request from this machine is an operator's, unless a proxy forwarded it", async () => {
    const { url, call } = await openServer()
    for (const entry of ENTRIES) expect(await isLetIn(url, entry, null), entry.path).toBe(true)
    for (const header of [
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-real-ip',
      'via',
      'cf-connecting-ip',
      'true-client-ip',
    ])
      expect(await call('/api/v1/info', { headers: { [header]: '127.0.0.1' } })).toMatchObject({
        status: 401,
      })
  })

  test('a server with a viewer token only has no operator', async () => {
    const { url } = await openServer({ tokens: { viewer: VIEWER } })
    expect(await ask(url, '/api/v1/info', { token: VIEWER })).toMatchObject({ body: { role: 'viewer' } })
    expect(await ask(url, '/api/v1/pause', { method: 'POST' })).toMatchObject({ status: 401 })
    expect(await ask(url, '/api/v1/pause', { method: 'POST', token: VIEWER })).toMatchObject({ status: 403 })
  })
})

test('a page of another site, which calls itself a name of ours, is refused', async () => {
  const { url, port } = await openServer({ hosts: ['Jobs.example.com'] })
  const as = (host: string) => askAs(url, '/api/v1/info', { host })
  for (const host of ['evil.example', `localhost.evil.example:${port}`, 'jobs.example.com.evil'])
    expect(await as(host), host).toBe(403)
  for (const host of ['a b', '[::1', 'localhost:x']) expect([400, 403], host).toContain(await as(host))
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '[::1]:80', 'jobs.example.com'])
    expect(await as(host), host).toBe(200)
  expect(await askAs(url, '/healthz', { host: 'evil.example' })).toBe(403)
  expect(await askAs(url, '/metrics', { host: 'evil.example' })).toBe(403)
})

test('a change is made by a page of this server or by a program, never by a page of another site', async () => {
  const open = await openServer()
  const change = async (headers: Record<string, string>, token?: string) =>
    (await fetch(`${open.url}/api/v1/queues/q/pause`, {
      method: 'POST',
      headers: { ...headers, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    }).then(({ status }) => status)) === 204
  expect(await change({ origin: 'http://evil.example' })).toBe(false)
  expect(await change({ origin: 'null' })).toBe(false)
  expect(await change({ origin: `http://127.0.0.1:${open.port + 1}` })).toBe(false)
  for (const site of ['cross-site', 'same-site', 'anything'])
    expect(await change({ 'sec-fetch-site': site })).toBe(false)
  expect(await change({ 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' })).toBe(false)
  expect((await open.get('/api/v1/actions')).items).toHaveLength(0)
  // A program sends neither header.
  expect(await change({})).toBe(true)
  expect(await change({ origin: open.url })).toBe(true)
  expect(await change({ 'sec-fetch-site': 'same-origin' })).toBe(true)
  expect(await change({ 'sec-fetch-site': 'none' })).toBe(true)
  expect(await change({ 'sec-fetch-site': 'same-site', origin: open.url })).toBe(true)
  expect((await open.get('/api/v1/actions')).items).toHaveLength(5)
})

test('every answer tells browsers to run nothing, frame nothing, guess nothing, keep nothing', async () => {
  const { call } = await openServer()
  for (const path of ['/api/v1/info', '/api/v1/nothing', '/healthz', '/metrics', '/api/v1/openapi.json']) {
    const { headers } = await call(path, { headers: { origin: 'http://evil.example' } })
    expect(headers.get('content-security-policy')).toMatch(/script-src 'self';.*frame-ancestors 'none'/)
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  }
  expect((await call('/api/v1/tasks', { method: 'OPTIONS' })).status).toBe(405)
})

test('other machines are served only by whoever has a token', async () => {
  const gleaner = await openTemp({})
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com'])
    await expect(serve(gleaner, { host, port: 0 })).rejects.toThrow(
      /would let every machine in.*Configure `server\.tokens`/,
    )
  const server = await serve(gleaner, { host: '0.0.0.0', port: 0, tokens })
  onTestFinished(() => server.close())
  const url = `http://127.0.0.1:${server.port}`
  expect(await ask(url, '/api/v1/info')).toMatchObject({ status: 401 })
  expect(await ask(url, '/api/v1/info', { token: VIEWER })).toMatchObject({ status: 200 })
})

test('a port that is taken, or a token that no header can carry, is said at once', async () => {
  const { port, gleaner } = await openServer()
  await expect(serve(gleaner, { port })).rejects.toThrow(
    /cannot listen on 127.0.0.1:\d+.*choose another port: `server\.port` in the config, or GLEANER_PORT/,
  )
  for (const operator of ['', 'a secret with spaces', 'ein-schlüssel-für-alle'])
    await expect(serve(gleaner, { port: 0, tokens: { operator } })).rejects.toThrow(/token is not valid/)
  await expect(serve(gleaner, { port: 0, tokens: { operator: 'fifteen-letters' } })).rejects.toThrow(
    /the operator token has 15 characters, which is too short.*openssl rand -hex 32/,
  )
})
