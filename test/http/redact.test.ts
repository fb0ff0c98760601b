import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { redacted } from '../../src/cli/operations/redacted.ts'
import { redactor } from '../../src/http/protocol/redact.ts'
import { defineTask } from '../../src/index.ts'
import { tempDatabase } from '../temp-database.ts'
import { listen } from './listener.ts'
import { ask, OPERATOR, openServer, plain, VIEWER } from './server.ts'

const cases: [string, unknown, unknown][] = [
  [
    'password',
    { password: 1, a: { Password: { b: 2 } } },
    { password: '[redacted]', a: { Password: '[redacted]' } },
  ],
  [
    '*.password',
    { password: 1, a: { password: 2, b: [{ password: 3 }] } },
    { password: 1, a: { password: '[redacted]', b: [{ password: '[redacted]' }] } },
  ],
  [
    'user.token',
    { token: 1, user: [{ token: 2 }], x: { user: { token: 3 } } },
    { token: 1, user: [{ token: '[redacted]' }], x: { user: { token: '[redacted]' } } },
  ],
  ['a.*.c', { a: { b: { c: 1 }, c: 2 } }, { a: { b: { c: '[redacted]' }, c: 2 } }],
]

test.each(cases)('%s hides what it names, and nothing else', (pattern, value, expected) => {
  expect(redactor([pattern])(value)).toEqual(expected)
})

test('a path that names nothing is refused', () => {
  for (const pattern of ['', '*', 'a..b', 'a.*', 7 as never])
    expect(() => redactor([pattern])).toThrow(/redact: .* is not a path/)
})

test('what is redacted never leaves: not in records, logs, errors, actions or events', async () => {
  const { gleaner, url, post, call, get } = await openServer({
    redact: ['*.password', 'details.token', 'filter.error'],
    timings: { lookMs: 1 },
  })
  const input = { path: 'a', password: 'hunter2' }
  const { body } = await post('/api/v1/tasks', { name: 'ml.embed', input })
  const events = await listen(`${url}/api/v1/events?tasks=${body.id}`)
  await gleaner.work().drained()
  await post('/api/v1/tasks/remove', { filter: { error: 'hunter2' } })
  await events.until(({ event, data }) => event === 'task' && data.task.status === 'completed')
  const task = await get(`/api/v1/tasks/${body.id}`)
  expect(task).toMatchObject({
    input: { path: 'a', password: '[redacted]' },
    result: { embedded: 'a', password: '[redacted]' },
  })
  expect(await get(`/api/v1/tasks/${body.id}/logs`)).toMatchObject({
    items: [{ details: { path: 'a', token: '[redacted]' } }],
  })
  const said = [
    ...['/api/v1/tasks', '/api/v1/actions', `/api/v1/tasks/${body.id}/attempts`].map((path) => call(path)),
    post('/api/v1/tasks', { name: 'ml.embed', input: { password: 'hunter2' } }),
  ]
  for (const { body } of await Promise.all(said)) expect(JSON.stringify(body)).not.toContain('hunter2')
  expect(events.text()).not.toContain('hunter2')
  // The record itself does not hold it either.
  expect(await gleaner.tasks.get(body.id)).toMatchObject({ input })
})

test('a redacted value does not leave in another text: an error, a log line, JSON inside a text', async () => {
  const careless = defineTask({
    name: 'careless',
    retry: { attempts: 1 },
    input: z.object({ login: z.object({ password: z.string() }), raw: z.string() }),
    run: async ({ login }, ctx) => {
      ctx.log.info(`signing in with ${login.password}`, { header: 'Authorization: Bearer abc.def' })
      await ctx.progress(0.5, `trying ${login.password}`)
      throw new Error(`the server refused {"password":"${login.password}","user":"kim"} and token=xyzzy`)
    },
  })
  const { gleaner, url, get } = await openServer(
    {
      redact: ['*.password', 'token', 'authorization'],
      tokens: { operator: OPERATOR, viewer: VIEWER },
      timings: { lookMs: 1 },
    },
    { tasks: [careless] },
  )
  const handle = await gleaner.enqueue(careless, {
    login: { password: 'hunter2' },
    raw: JSON.stringify({ login: { password: 'hunter3' }, count: 7 }),
  })
  const events = await listen(`${url}/api/v1/events?tasks=${handle.id}`, {
    authorization: `Bearer ${VIEWER}`,
  })
  await gleaner.work().drained()
  await events.until(({ event, data }) => event === 'task' && data.task.status === 'failed')
  const task = await get(`/api/v1/tasks/${handle.id}`)
  expect(task.error.message).toBe(
    'Error: the server refused {"password":"[redacted]","user":"kim"} and token=[redacted]',
  )
  expect(JSON.parse(task.input.raw)).toEqual({ login: { password: '[redacted]' }, count: 7 })
  const logs = await get(`/api/v1/tasks/${handle.id}/logs`)
  expect(logs.items).toMatchObject([
    { message: 'signing in with [redacted]', details: { header: 'Authorization: [redacted]' } },
  ])
  const attempts = await get(`/api/v1/tasks/${handle.id}/attempts`)
  const said = [JSON.stringify([task, logs, attempts, await get('/api/v1/tasks')]), events.text()]
  for (const text of said) expect(text).not.toMatch(/hunter|abc\.def|xyzzy/)
  // A filter by the text of errors would tell a viewer what is hidden, letter by letter.
  const byError = (token: string) => ask(url, '/api/v1/tasks?error=hunter', { token })
  expect((await byError(VIEWER)).status).toBe(403)
  expect((await byError(OPERATOR)).body.items).toHaveLength(1)
})

test('large integers leave with all their digits, whether anything is redacted or not', async () => {
  const { rawJSON: raw } = JSON as unknown as { rawJSON: (text: string) => unknown }
  for (const redact of [[], ['*.password']]) {
    const { gleaner, url } = await openServer({ redact })
    const { id } = await gleaner.enqueue(plain, {
      id: raw('9007199254740993'),
      password: raw('9007199254740995'),
    } as never)
    const text = await (await fetch(`${url}/api/v1/tasks/${id}`)).text()
    const password = redact.length === 0 ? '9007199254740995' : '"[redacted]"'
    expect(text).toContain(`"input":{"id":9007199254740993,"password":${password}}`)
    expect(await (await fetch(`${url}/api/v1/tasks`)).text()).toContain(':9007199254740993,')
  }
})

test('what is redacted is not kept in the record of actions either', async () => {
  const path = tempDatabase()
  const { post } = await openServer({ redact: ['filter.error'] }, { database: `sqlite:${path}` })
  await post('/api/v1/tasks/remove', { filter: { error: 'hunter2' } })
  const db = new Database(path, { readonly: true })
  onTestFinished(() => void db.close())
  expect(db.prepare('SELECT details FROM gleaner_actions').pluck().get()).toContain('[redacted]')
})

test.each([
  ['a number', { input: { pin: 445_566 }, error: { message: 'pin of 445566' } }, '445566'],
  [
    'a value as JSON writes it',
    { input: { pin: 'ab"cd' }, error: { message: 'sent {"x":"ab\\"cd"}' } },
    'cd',
  ],
  ['JSON inside JSON', { error: { message: String.raw`sent "{\"pin\":\"ab\\\"cd\",\"x\":1}"` } }, 'cd'],
  ['an object as Ruby prints it', { error: { message: 'sent {"pin"=>"secret"}' } }, 'secret'],
])('%s that is redacted does not leave in a message', (_form, record, secret) => {
  const said = JSON.stringify(redactor(['pin'])(record))
  expect(said).not.toContain(secret)
  expect(said).toContain('[redacted]')
})

test('each record of a long page is searched for its own hidden values', () => {
  const items = Array.from({ length: 200 }, (_, index) => {
    const [pin, second] = [`first-${1000 + index}`, `second-${1000 + index}`]
    return { input: { pin, other: { pin: second } }, error: { message: `refused ${pin} ${second}` } }
  })
  expect(JSON.stringify(redactor(['pin'])({ items }))).not.toMatch(/(first|second)-\d/)
})

test('the reasons why a task waits hold nothing that is redacted in the task', async () => {
  const failing = defineTask({
    name: 'failing',
    retry: { attempts: 2, base: '1h' },
    input: z.object({ password: z.string() }),
    run: async ({ password }) => {
      throw new Error(`refused ${password}`)
    },
  })
  const { gleaner, get } = await openServer({ redact: ['password'] }, { tasks: [failing] })
  const { id } = await gleaner.enqueue(failing, { password: 'hunter2' })
  await gleaner.work().drained()
  const said = JSON.stringify(await get(`/api/v1/tasks/${id}/explain`))
  expect(said).toContain('refused [redacted]')
  const direct = redacted({ tasks: gleaner.tasks }, redactor(['password']))
  expect(JSON.stringify(await direct.tasks.explain(id))).toContain('refused [redacted]')
})
