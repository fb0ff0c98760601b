import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { redactor } from '../../src/http/redact.ts'
import { tempDatabase } from '../temp-database.ts'
import { listen } from './listener.ts'
import { openServer, plain } from './server.ts'

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
