import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { Hono as OldestHono } from 'hono-oldest'
import { expect, onTestFinished, test } from 'vitest'
import { type ApiOptions, createApi, nodeHandler } from '../../src/http/index.ts'
import { openTemp } from '../temp-database.ts'
import { ask, type Call, plain } from './server.ts'

/** What each of them must do, wherever it stands. */
async function expectWhole(url: string, call: Call = {}): Promise<void> {
  const post = (path: string, body?: unknown) => ask(url, path, { ...call, method: 'POST', body })
  const get = (path: string) => ask(url, path, call)
  expect(await post('/ops/api/v1/tasks', { name: 'plain', options: { key: 'k' } })).toMatchObject({
    status: 201,
  })
  expect(await get('/ops/api/v1/tasks?key=k&status=queued')).toMatchObject({
    body: { items: [{ key: 'k' }] },
  })
  expect(await get('/ops/api/v1/tasks/4711')).toMatchObject({
    status: 404,
    body: { error: { code: 'TASK_GONE' } },
  })
  expect(await get('/ops/api/v1/nothing')).toMatchObject({
    status: 404,
    body: { error: { code: 'NOT_FOUND' } },
  })
  expect(await get('/ops/healthz')).toMatchObject({ status: 200, body: 'ok\n' })
  expect(await get('/')).toMatchObject({ status: 200, body: 'the app itself' })
  expect(await firstEvent(`${url}/ops/api/v1/events`, call)).toContain('event: counts')
}

/** The page finds its files also when its address is named without the slash. */
async function expectPage(url: string): Promise<void> {
  const headers = { accept: 'text/html' }
  const bare = await fetch(`${url}/ops?range=day`, { headers, redirect: 'manual' })
  expect(bare).toMatchObject({ status: 302 })
  expect(new URL(bare.headers.get('location')!, bare.url).href).toBe(`${url}/ops/?range=day`)
  for (const path of ['/ops/', '/ops/tasks', '/ops/tasks/17']) {
    const page = await fetch(url + path, { headers })
    expect(page).toMatchObject({ status: 200 })
    expect(await page.text()).toContain('<html')
  }
}

async function firstEvent(url: string, { headers = {} }: Call): Promise<string> {
  const leave = new AbortController()
  const { body } = await fetch(url, { signal: leave.signal, headers })
  let text = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('data:')) break
  }
  leave.abort()
  return text
}

async function api<App = Hono>(options: ApiOptions = { local: true }) {
  const made = createApi<App>(await openTemp({ tasks: [plain] }), options)
  onTestFinished(() => made.close())
  return made
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('in an app of Hono', async () => {
  const app = new Hono().get('/', (c) => c.text('the app itself')).route('/ops', await api())
  const url = await listening(createServer(getRequestListener(app.fetch)))
  await expectWhole(url)
  await expectPage(url)
})

test('in an app of another copy of Hono, by `route` and by `mount`', async () => {
  const { Hono: Other } = await secondCopyOfHono()
  expect(Other).not.toBe(Hono)
  const routed = new Other().get('/', (c) => c.text('the app itself')).route('/ops', await api())
  const { fetch: handle } = await api()
  const mounted = new Other().get('/', (c) => c.text('the app itself')).mount('/ops', handle)
  for (const app of [routed, mounted]) {
    const url = await listening(createServer(getRequestListener(app.fetch)))
    await expectWhole(url)
    await expectPage(url)
  }
})

test('in an app of the oldest Hono 4, by `route` and by `mount`', async () => {
  const routed = new OldestHono()
    .get('/', (c) => c.text('the app itself'))
    .route('/ops', await api<OldestHono>())
  const { fetch: handle } = await api()
  const mounted = new OldestHono().get('/', (c) => c.text('the app itself')).mount('/ops', handle)
  for (const app of [routed, mounted]) {
    const url = await listening(createServer(getRequestListener(app.fetch)))
    await expectWhole(url)
    await expectPage(url)
  }
})

/** As in an app that has a version of its own. */
async function secondCopyOfHono(): Promise<{ Hono: typeof Hono }> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-hono-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const ours = dirname(dirname(fileURLToPath(import.meta.resolve('hono'))))
  cpSync(ours, folder, { recursive: true, filter: (path) => !/dist\/(cjs|types)$/.test(path) })
  return import(pathToFileURL(join(folder, 'dist', 'hono.js')).href)
}

test('what only begins like the prefix is not below it', async () => {
  const url = await listening(createServer(nodeHandler(await api(), { prefix: '/ops/' })))
  expect(await ask(url, '/ops/healthz')).toMatchObject({ status: 200 })
  expect(await ask(url, '/ops?x=1')).toMatchObject({ status: 200 })
  expect(await ask(url, '/opshealthz')).toMatchObject({ status: 404 })
  expect(await ask(url, '/ops/healthz?x=/ops')).toMatchObject({ status: 200 })
})

test('in an app of Express, whether its body was parsed before or not', async () => {
  const app = express()
  app.get('/', (_request, response) => void response.send('the app itself'))
  app.use('/ops', nodeHandler(await api()))
  app.use('/parsed', express.json(), nodeHandler(await api()))
  const url = await listening(createServer(app))
  await expectWhole(url)
  await expectPage(url)
  expect(await ask(url, '/parsed/api/v1/tasks', { method: 'POST', body: { name: 'plain' } })).toMatchObject({
    status: 201,
  })
})

test('in an app of Fastify', async () => {
  const app = fastify()
  const handle = nodeHandler(await api(), { prefix: '/ops' })
  app.get('/', (_request, reply) => reply.send('the app itself'))
  for (const path of ['/ops', '/ops/*'])
    app.all(path, (request, reply) => {
      reply.hijack()
      handle(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  await expectWhole(url)
  await expectPage(url)
})

test('the server around it may say who asks', async () => {
  const authorize = (request: Request) => {
    const user = request.headers.get('x-user')
    if (user === null) return null
    return { user, role: user === 'kim' ? 'operator' : 'viewer' } as const
  }
  const app = new Hono().get('/', (c) => c.text('the app itself')).route('/ops', await api({ authorize }))
  const url = await listening(createServer(getRequestListener(app.fetch)))
  const as = (user: string): Call => ({ headers: { 'x-user': user, origin: url } })
  await expectWhole(url, as('kim'))
  expect(await ask(url, '/ops/api/v1/info', as('sam'))).toMatchObject({
    body: { role: 'viewer', user: 'sam' },
  })
  expect(await ask(url, '/ops/api/v1/pause', { ...as('sam'), method: 'POST' })).toMatchObject({ status: 403 })
  expect(await ask(url, '/ops/api/v1/info')).toMatchObject({ status: 401 })
  await ask(url, '/ops/api/v1/pause', { ...as('kim'), method: 'POST' })
  expect(await ask(url, '/ops/api/v1/actions', as('sam'))).toMatchObject({
    body: {
      items: [
        { action: 'pause', user: 'kim' },
        { action: 'tasks.enqueue', user: 'kim' },
      ],
    },
  })
})

test('asked without a connection, nobody is local', async () => {
  const app = await api()
  expect((await app.request('/api/v1/info')).status).toBe(401)
})
