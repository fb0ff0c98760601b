import { expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/http/api.ts'
import { createApi } from '../../src/http/index.ts'
import { openTemp } from '../temp-database.ts'
import { ask, type Call, embed, LOCAL, openServer, plain } from './server.ts'

const ADMIN = { name: 'admin', role: 'operator', token: 'the-token-of-the-admin' } as const
const CI = { name: 'ci', role: 'operator', token: 'the-token-of-the-ci-jobs', queues: ['ml'] } as const

test('a mounted app refuses every request until it is told who may call it', async () => {
  const app = createApi(await openTemp({ tasks: [plain] }))
  onTestFinished(() => app.close())
  const status = async (path: string, method = 'GET') => (await app.request(path, { method }, LOCAL)).status
  for (const { method, path, role } of ROUTES)
    if (role !== null)
      expect(await status(`/api/v1${path.replaceAll(/:\w+/g, 'x1')}`, method.toUpperCase())).toBe(401)
  expect(await status('/metrics')).toBe(401)
  expect(await status('/healthz')).toBe(200)
  const refused = await app.request('/api/v1/info', {}, LOCAL)
  expect(await refused.json()).toMatchObject({
    error: { hint: expect.stringMatching(/tokens.*authorize.*local/) },
  })
})

test('the record of actions names the token that was used, and holds what was enqueued', async () => {
  const { url } = await openServer({ tokens: [ADMIN, CI] })
  const call: Call = { method: 'POST', token: CI.token }
  await ask(url, '/api/v1/tasks', {
    ...call,
    body: { name: 'ml.embed', input: { path: 'a', password: 'x' } },
  })
  await ask(url, '/api/v1/tasks/bulk', {
    ...call,
    body: { name: 'ml.embed', inputs: [{ path: 'b' }, { path: 'c' }] },
  })
  await ask(url, '/api/v1/pause', { method: 'POST', token: ADMIN.token })
  const { items } = (await ask(url, '/api/v1/actions', { token: ADMIN.token })).body
  expect(items).toMatchObject([
    { action: 'pause', user: 'admin', role: 'operator' },
    { action: 'tasks.enqueue-many', user: 'ci', details: { name: 'ml.embed', count: 2 } },
    { action: 'tasks.enqueue', user: 'ci', details: { name: 'ml.embed' } },
  ])
  expect(JSON.stringify(items)).not.toContain('password')
})

test('a token for some queues changes nothing outside of them', async () => {
  const { url, gleaner } = await openServer({ tokens: [ADMIN, CI] })
  const ours = await gleaner.enqueue(embed, { path: 'a' }, { runAfter: '1h' })
  const theirs = await gleaner.enqueue(plain, undefined, { runAfter: '1h' })
  const post = async (path: string, body?: unknown) =>
    (await ask(url, `/api/v1${path}`, { method: 'POST', body, token: CI.token })).status
  expect(await post(`/tasks/${theirs.id}/cancel`)).toBe(403)
  expect(await post('/tasks', { name: 'plain' })).toBe(403)
  expect(
    await post('/tasks', { name: 'ml.embed', input: { path: 'a' }, options: { queue: 'default' } }),
  ).toBe(403)
  expect(await post('/tasks/cancel', { all: true })).toBe(403)
  expect(await post('/tasks/cancel', { filter: { queue: 'default' } })).toBe(403)
  expect(await post('/queues/default/pause')).toBe(403)
  expect(await post('/pause')).toBe(403)
  expect(await post('/maintenance/check')).toBe(403)
  expect((await gleaner.tasks.get(theirs.id))?.status).toBe('scheduled')
  expect(await post('/tasks', { name: 'ml.embed', input: { path: 'a' } })).toBe(201)
  expect(await post(`/tasks/${ours.id}/cancel`)).toBe(200)
  expect(await post('/tasks/cancel', { filter: { queue: 'ml' } })).toBe(200)
  expect(await post('/queues/ml/pause')).toBe(204)
})

test('`authorize` may limit a user to some actions', async () => {
  const authorize = () => ({ role: 'operator', user: 'sam', actions: ['queues.pause'] }) as const
  const { url } = await openServer({ authorize })
  const post = (path: string) => ask(url, `/api/v1${path}`, { method: 'POST' })
  expect(await post('/queues/ml/pause')).toMatchObject({ status: 204 })
  expect(await post('/queues/ml/resume')).toMatchObject({
    status: 403,
    body: { error: { code: 'FORBIDDEN', message: 'this caller may not do queues.resume' } },
  })
})

test('every route that changes something has a name in the record of actions', () => {
  // Claims and their ends are as many as items. The attempts of a task say who worked on it.
  const recorded = ROUTES.filter(({ method, role }) => method !== 'get' && role !== null && role !== 'worker')
  const unnamed = recorded.filter(({ action }) => !action)
  expect(unnamed.map(({ path }) => path)).toEqual([])
})

test('a browser signs in once, and a script cannot read what it keeps', async () => {
  const { url, port } = await openServer({ tokens: [ADMIN] })
  const signIn = (token: string, headers = {}) =>
    ask(url, '/api/v1/session', { method: 'POST', body: { token }, headers })
  expect(await signIn('not-the-token-of-the-admin')).toMatchObject({ status: 401 })
  expect(await signIn(ADMIN.token, { origin: 'http://evil.example' })).toMatchObject({ status: 403 })
  const { status, headers, body } = await signIn(ADMIN.token)
  expect(status).toBe(200)
  const [pair, ...attributes] = headers.get('set-cookie')!.split('; ')
  expect(pair).toMatch(new RegExp(`^gleaner-${port}=`))
  expect(`${pair}${body.key}`).not.toContain(ADMIN.token)
  expect(attributes).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Strict']))
  const cookie = { cookie: `other=1; ${pair}`, 'gleaner-key': body.key as string }
  expect(await ask(url, '/api/v1/info', { headers: cookie })).toMatchObject({
    body: { role: 'operator', user: 'admin', signedIn: true },
  })
  const pause = (more: Record<string, string>) =>
    ask(url, '/api/v1/pause', { method: 'POST', headers: { ...cookie, ...more } })
  expect(await pause({})).toMatchObject({ status: 204 })
  expect(await pause({ origin: 'http://evil.example' })).toMatchObject({ status: 403 })
  const out = await ask(url, '/api/v1/session', { method: 'DELETE', headers: cookie })
  expect(out.headers.get('set-cookie')).toMatch(new RegExp(`^gleaner-${port}=; Max-Age=0;`))
  // What the browser keeps is not a token.
  expect(await ask(url, '/api/v1/info', { token: pair!.split('=')[1]! })).toMatchObject({ status: 401 })
})

test('the cookie alone opens nothing: browsers send it to every port of the host', async () => {
  const { url } = await openServer({ tokens: [ADMIN] })
  const signedIn = await ask(url, '/api/v1/session', { method: 'POST', body: { token: ADMIN.token } })
  const [cookie] = signedIn.headers.get('set-cookie')!.split(';')
  for (const key of [undefined, '', 'a-guess', cookie!.split('=')[1]!]) {
    const headers = { cookie: cookie!, ...(key === undefined ? {} : { 'gleaner-key': key }) }
    expect(await ask(url, '/api/v1/info', { headers }), key).toMatchObject({ status: 401 })
  }
  const key = { 'gleaner-key': signedIn.body.key as string }
  expect(await ask(url, '/api/v1/info', { headers: key })).toMatchObject({ status: 401 })
})

test('wrong tokens are slowed down and logged, and right ones never wait for them', async () => {
  const { url, gleaner } = await openServer({ tokens: [ADMIN] })
  const problems: string[] = []
  gleaner.on('problem', ({ message }) => problems.push(message))
  const order: string[] = []
  const guesses = Array.from({ length: 24 }, (_, number) =>
    ask(url, '/api/v1/info', { token: `guess-number-${number}-of-many` }).then(({ status }) =>
      order.push(`${status}`),
    ),
  )
  await ask(url, '/api/v1/info', { token: ADMIN.token })
  order.push('right')
  await Promise.all(guesses)
  // The eighth guess waits for 800 ms: so long a right token may take on a busy machine.
  expect(order.indexOf('right')).toBeLessThan(8)
  expect(order.filter((one) => one === '401')).toHaveLength(24)
  expect(problems).toEqual(['refused a request with an unknown token'])
})

test('wrong sign-ins wait without holding up callers with a right token', async () => {
  const { url } = await openServer({ tokens: [ADMIN] })
  const order: string[] = []
  const signIn = (number: number) =>
    ask(url, '/api/v1/session', { method: 'POST', body: { token: `guess-number-${number}` } })
  const guesses = Array.from({ length: 24 }, (_, number) =>
    signIn(number).then(({ status }) => order.push(`${status}`)),
  )
  // The first one waits already when the next requests are sent.
  await guesses[0]
  order.length = 0
  expect(await ask(url, '/api/v1/info', { token: ADMIN.token })).toMatchObject({ status: 200 })
  order.push('right')
  await Promise.all(guesses)
  expect(order.indexOf('right')).toBeLessThan(8)
})

test('a wrong cookie is slowed down and logged like a wrong token', async () => {
  const { url, port, gleaner } = await openServer({ tokens: [ADMIN] })
  const logged = new Promise((resolve) => gleaner.on('problem', ({ message }) => resolve(message)))
  const guess = { headers: { cookie: `gleaner-${port}=a-guess` } }
  expect(await ask(url, '/api/v1/info', guess)).toMatchObject({ status: 401 })
  expect(await Promise.race([logged, 'nothing'])).toBe('refused a request with an unknown token')
})

test('a caller without a token that leaves in the middle of its request writes nothing to the log', async () => {
  const gleaner = await openTemp({ tasks: [plain] })
  const problems: string[] = []
  gleaner.on('problem', ({ message }) => problems.push(message))
  const app = createApi(gleaner, { tokens: [ADMIN] })
  onTestFinished(() => app.close())
  const body = new ReadableStream({ start: (stream) => stream.error(new Error('aborted')) })
  const headers = { 'content-type': 'application/json' }
  const cut = new Request('http://localhost/api/v1/session', {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  })
  expect(await app.request(cut, {}, LOCAL)).toMatchObject({ status: 400 })
  expect(problems).toEqual([])
})

test('many that ask at once whether the server is ready cost one reading of the database', async () => {
  const gleaner = await openTemp({ tasks: [plain] })
  let readings = 0
  const { list } = gleaner.queues
  const counting = { ...gleaner.queues, list: () => list().finally(() => (readings += 1)) }
  Object.defineProperty(gleaner, 'queues', { value: counting })
  const app = createApi(gleaner)
  onTestFinished(() => app.close())
  const answers = await Promise.all(Array.from({ length: 50 }, () => app.request('/readyz', {}, LOCAL)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(readings).toBe(1)
})

test('a request that needs no token cannot make the server hold a large body', async () => {
  const { url } = await openServer({ tokens: [ADMIN] })
  const body = { token: ADMIN.token, padding: 'x'.repeat(10_000) }
  expect(await ask(url, '/api/v1/session', { method: 'POST', body })).toMatchObject({ status: 413 })
})

test('a limit from `authorize` that is no list lets nothing in', async () => {
  const authorize = () => ({ role: 'operator', user: 'sam', queues: 'default-mail' as never }) as const
  const { url, gleaner } = await openServer({ authorize })
  expect(await ask(url, '/api/v1/queues/default/pause', { method: 'POST' })).toMatchObject({ status: 500 })
  expect((await gleaner.queues.list()).some(({ paused }) => paused)).toBe(false)
})

test.each([{ whenHeld: 'replace' }, { debounce: '5h' }])(
  'a token for some queues changes no waiting task of another queue by its key: %j',
  async (wish) => {
    const { url, gleaner } = await openServer({ tokens: [CI] })
    const theirs = await gleaner.enqueue(
      embed,
      { path: 'theirs' },
      { queue: 'gpu', key: 'k', runAfter: '1h' },
    )
    const options = { ...wish, queue: 'ml' }
    const post = async (path: string, body: unknown) =>
      (await ask(url, `/api/v1${path}`, { method: 'POST', body, token: CI.token })).status
    const input = { path: 'ours' }
    expect(await post('/tasks', { name: 'ml.embed', input, options: { ...options, key: 'k' } })).toBe(403)
    expect(await post('/tasks/bulk', { name: 'ml.embed', inputs: [input], keys: ['k'], options })).toBe(403)
    expect((await gleaner.tasks.get(theirs.id))?.input).toEqual({ path: 'theirs' })
    expect(await post('/tasks', { name: 'ml.embed', input, options: { ...options, key: 'ours' } })).toBe(201)
    expect(await post('/tasks', { name: 'ml.embed', input, options: { ...options, key: 'ours' } })).toBe(201)
  },
)

test.each([
  [[{ ...ADMIN, role: 'admin' }], /tokens\[0\].role: "admin" is not a role/],
  [[{ ...ADMIN, queue: 'ml' }], /tokens\[0\].queue is not an option/],
  [[{ ...ADMIN, name: '' }], /tokens\[0\].name/],
  [[ADMIN, { ...CI, name: 'admin' }], /two tokens have the name "admin"/],
  [{ admin: ADMIN.token }, /tokens.admin: there is no such role/],
  ['a-token-as-a-text', /is not a list of tokens/],
])('tokens that cannot be meant so are refused with a hint: %j', async (tokens, message) => {
  const gleaner = await openTemp({})
  expect(() => createApi(gleaner, { tokens: tokens as never })).toThrow(message)
})
