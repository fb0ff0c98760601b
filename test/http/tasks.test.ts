import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Failure } from '../../src/index.ts'
import { until } from '../until.ts'
import { DATABASES, openServer, plain } from './server.ts'

describe.each(Object.entries(DATABASES))('on %s', (_name, database) => {
  test('a task is enqueued, runs, and says what became of it', async () => {
    const { gleaner, post, get } = await openServer({}, database())
    const { status, body } = await post('/api/v1/tasks', { name: 'ml.embed', input: { path: 'a.flac' } })
    expect({ status, body }).toEqual({ status: 201, body: { id: expect.any(String), created: true } })
    await gleaner.work().drained()
    const task = await get(`/api/v1/tasks/${body.id}`)
    expect(task).toMatchObject({ status: 'completed', queue: 'ml', result: { embedded: 'a.flac' } })
    expect(task).toEqual(await gleaner.tasks.get(body.id))
    expect(await get(`/api/v1/tasks/${body.id}/logs`)).toMatchObject({
      items: [{ message: 'start' }],
      next: null,
    })
    expect(await get(`/api/v1/tasks/${body.id}/attempts`)).toMatchObject({
      items: [{ outcome: 'completed' }],
    })
    expect(await get(`/api/v1/tasks/${body.id}/explain`)).toMatchObject({ runnable: false })
    expect(await get('/api/v1/stats')).toMatchObject({ counts: { completed: 1 } })
  })

  test('a signal resumes the task or the row that waits for it', async () => {
    const ship = defineTask({ name: 'ship', run: (_input, ctx) => ctx.waitFor('approval') })
    const { gleaner, post, get } = await openServer({}, { ...database(), tasks: [ship] })
    const worker = gleaner.work()
    const handle = await gleaner.enqueue(ship)
    await until(
      'it is suspended',
      async () => (await get(`/api/v1/tasks/${handle.id}`)).status === 'suspended',
    )
    expect((await get('/api/v1/stats')).counts).toMatchObject({ suspended: 1 })
    const path = `/api/v1/tasks/${handle.id}/signals`
    expect(await post(path, { name: 'approval', payload: { by: 'ada' } })).toMatchObject({
      status: 200,
      body: { resumed: true },
    })
    expect(await handle.result()).toEqual({ by: 'ada' })
    expect((await get(`/api/v1/tasks/${handle.id}/steps`)).items).toMatchObject([
      { name: 'approval', kind: 'signal', value: { by: 'ada' } },
    ])
    expect(await post(path, { name: 'approval' })).toMatchObject({
      status: 409,
      body: { error: { code: 'TASK_STATE' } },
    })
    expect(await post('/api/v1/tasks/999/signals', { name: 'approval' })).toMatchObject({ status: 404 })
    expect(await post(path, { name: '' })).toMatchObject({ status: 400 })
    const rows = await post('/api/v1/discoveries/none/rows/signals', { key: '1', name: 'approval' })
    expect(rows).toMatchObject({ status: 404, body: { error: { code: 'UNKNOWN_DISCOVERY' } } })
    await worker.stop()
  })

  test('a page of large tasks ends before it has more than 1 MiB, and its cursor continues', async () => {
    const echo = defineTask({ name: 'echo', input: z.string(), run: async (text: string) => text })
    const { gleaner, get } = await openServer({}, { ...database(), tasks: [echo] })
    const handles = await gleaner.enqueueMany(echo, Array(200).fill('x'.repeat(4_000)))
    await gleaner.work({ concurrency: 50 }).drained()
    const ids: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const page = `/api/v1/tasks?limit=200${next === '' ? '' : `&cursor=${next}`}`
      const body = await get(page)
      expect(JSON.stringify(body).length).toBeLessThan(2 ** 20 + 100)
      ids.push(...body.items.map(({ id }: { id: string }) => id))
      next = body.next
    }
    expect(ids).toEqual(handles.map(({ id }) => id).reverse())
  })

  test('of many failed attempts the last ones keep their stack, as far as there is room', async () => {
    const failing = defineTask({
      name: 'failing',
      retry: { attempts: 150, base: 0 },
      async run() {
        throw Object.assign(new Error('no'), { stack: 'x'.repeat(7_900) })
      },
    })
    const { gleaner, get } = await openServer({}, { ...database(), tasks: [failing] })
    const { id } = await gleaner.enqueue(failing)
    await gleaner.work().drained({ includeDelayed: true })
    const { items } = await get(`/api/v1/tasks/${id}/attempts`)
    expect(items).toHaveLength(150)
    const stacks = items.map(({ error }: { error: Failure }) => error.stack !== null)
    expect(stacks.at(-1)).toBe(true)
    expect(stacks.indexOf(true)).toBeGreaterThan(10)
    expect(stacks.slice(stacks.indexOf(true))).not.toContain(false)
  })

  test('options are those of the library: a key that is held names its holder', async () => {
    const { post, get } = await openServer({}, database())
    const options = { key: 'k', priority: 3, runAfter: '1h', requires: { gpu: true }, queue: 'slow' }
    const first = await post('/api/v1/tasks', { name: 'plain', options })
    const second = await post('/api/v1/tasks', { name: 'plain', options })
    expect(second).toMatchObject({ status: 201, body: { id: first.body.id, created: false } })
    expect(await get(`/api/v1/tasks/${first.body.id}`)).toMatchObject({
      status: 'scheduled',
      priority: 3,
      queue: 'slow',
      key: 'k',
      requires: { gpu: true },
    })
  })

  test('a time to run after is one of ISO 8601', async () => {
    const { post, get } = await openServer({}, database())
    const runAfter = '2035-01-02T03:04:05.678+02:00'
    const { body } = await post('/api/v1/tasks', { name: 'plain', options: { runAfter } })
    expect(await get(`/api/v1/tasks/${body.id}`)).toMatchObject({ runAfter: Date.parse(runAfter) })
  })

  test('many are enqueued together, each with its key, or none of them', async () => {
    const { post, get } = await openServer({}, database())
    const inputs = [{ path: 'a' }, { path: 'b' }]
    const made = await post('/api/v1/tasks/bulk', { name: 'ml.embed', inputs, keys: ['a', 'b'] })
    expect(made).toMatchObject({ status: 201, body: { items: [{ created: true }, { created: true }] } })
    expect(await get('/api/v1/tasks?key=b&status=queued')).toMatchObject({
      items: [{ input: { path: 'b' } }],
    })
    const refused = await post('/api/v1/tasks/bulk', {
      name: 'ml.embed',
      inputs: [{ path: 'c' }, { path: 7 }],
    })
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { code: 'BAD_INPUT', issues: [{ path: 'inputs.1.path' }] } },
    })
    expect(await get('/api/v1/stats')).toMatchObject({ counts: { queued: 2 } })
  })

  test('a listing goes on where the page before ended, until there is no more', async () => {
    const { gleaner, get } = await openServer({}, database())
    for (let n = 0; n < 5; n++) await gleaner.enqueue(plain)
    const seen: string[] = []
    let path = '/api/v1/tasks?limit=2'
    for (let pages = 0; pages < 10 && path !== ''; pages++) {
      const { items, next } = await get(path)
      expect(items.length).toBeLessThanOrEqual(2)
      seen.push(...items.map(({ id }: { id: string }) => id))
      path = next === null ? '' : `/api/v1/tasks?limit=2&cursor=${next}`
    }
    expect(new Set(seen).size).toBe(5)
  })

  test('what failed is retried, one by one or by a filter, after a dry run that says how many', async () => {
    const { gleaner, post, get } = await openServer({}, database())
    for (let n = 0; n < 3; n++)
      await post('/api/v1/tasks', {
        name: 'ml.embed',
        input: { path: 'bad' },
        options: { retry: { attempts: 1 } },
      })
    await gleaner.work().drained()
    await gleaner.pause()
    const [failed] = (await get('/api/v1/tasks?status=failed&error=NO%20such')).items
    const filter = { status: 'failed', name: 'ml.embed' }
    expect(await post(`/api/v1/tasks/${failed.id}/retry`)).toMatchObject({
      status: 200,
      body: { status: 'queued' },
    })
    expect(await post('/api/v1/tasks/retry', { filter, dryRun: true })).toMatchObject({
      body: { changed: 2, dryRun: true },
    })
    expect(await post('/api/v1/tasks/retry', { filter })).toMatchObject({
      body: { changed: 2, dryRun: false },
    })
    expect(await post('/api/v1/tasks/retry', {})).toMatchObject({
      status: 400,
      body: { error: { code: 'BAD_OPTION' } },
    })
    expect(await post(`/api/v1/tasks/${failed.id}/retry`)).toMatchObject({
      status: 409,
      body: { error: { code: 'TASK_STATE' } },
    })
    expect(await post(`/api/v1/tasks/${failed.id}/cancel`)).toMatchObject({ body: { cancelled: true } })
    expect(await post('/api/v1/tasks/cancel', { all: true })).toMatchObject({ body: { changed: 2 } })
    expect(await post('/api/v1/tasks/remove', { filter: { status: 'cancelled' } })).toMatchObject({
      body: { changed: 3 },
    })
  })

  test('queues are paused and resumed, and so is everything', async () => {
    const { post, get, call } = await openServer({}, database())
    const { body } = await post('/api/v1/tasks', { name: 'plain' })
    expect((await post('/api/v1/queues/default/pause')).status).toBe(204)
    expect(await get('/api/v1/queues')).toMatchObject({
      items: [{ name: 'default', paused: true, queued: 1 }],
    })
    expect((await post('/api/v1/queues/default/resume')).status).toBe(204)
    expect((await post('/api/v1/pause')).status).toBe(204)
    expect(await get(`/api/v1/tasks/${body.id}/explain`)).toMatchObject({ runnable: false })
    expect((await post('/api/v1/resume')).status).toBe(204)
    expect((await call(`/api/v1/tasks/${body.id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await call(`/api/v1/tasks/${body.id}`)).body.error.code).toBe('TASK_GONE')
  })

  test('what recurs is listed, paused, resumed and triggered', async () => {
    const { post, get } = await openServer({}, database())
    expect((await post('/api/v1/schedules/nightly/pause')).status).toBe(204)
    expect(await get('/api/v1/schedules')).toMatchObject({ items: [{ name: 'nightly', paused: true }] })
    expect((await post('/api/v1/schedules/nightly/resume')).status).toBe(204)
    expect(await post('/api/v1/schedules/nightly/trigger')).toMatchObject({
      status: 200,
      body: { created: true },
    })
    expect((await post('/api/v1/schedules/weekly/pause')).body.error.code).toBe('UNKNOWN_SCHEDULE')
  })

  test('maintenance that names no file is done over HTTP', async () => {
    const { post } = await openServer({}, database())
    expect(await post('/api/v1/maintenance/check')).toMatchObject({ status: 200, body: { items: [] } })
    expect(await post('/api/v1/maintenance/checkpoint')).toMatchObject({ body: { complete: true } })
    expect(await post('/api/v1/maintenance/prune')).toMatchObject({ body: { removed: 0 } })
  })

  test('every action of an operator is noted before it is done, with who asked; a dry run is none', async () => {
    const { post, get } = await openServer({}, database())
    await post('/api/v1/queues/mail/pause')
    await post('/api/v1/tasks/remove', { filter: { queue: 'mail' }, dryRun: true })
    await post('/api/v1/tasks/remove', { filter: { queue: 'mail' } })
    await post('/api/v1/tasks/4711/retry')
    const { items } = await get('/api/v1/actions')
    expect(
      items.map(({ action, target, role, address, details }: any) => [
        action,
        target,
        role,
        address,
        details,
      ]),
    ).toEqual([
      ['tasks.retry', '4711', 'operator', '127.0.0.1', null],
      [
        'tasks.remove-all',
        null,
        'operator',
        '127.0.0.1',
        { filter: { queue: 'mail' }, dryRun: false, all: false },
      ],
      ['queues.pause', 'mail', 'operator', '127.0.0.1', null],
    ])
  })
})

test('what does not fit says which field, and what is possible', async () => {
  const { call, post } = await openServer()
  const code = async (path: string) => (await call(path)).body.error
  expect(await post('/api/v1/tasks', { name: 'ml.embed', input: { path: 7 } })).toMatchObject({
    status: 422,
    body: { error: { code: 'BAD_INPUT', issues: [{ path: 'input.path' }], hint: 'Look at input.path.' } },
  })
  expect(await post('/api/v1/tasks', { name: 'nobody' })).toMatchObject({
    status: 404,
    body: { error: { code: 'UNKNOWN_TASK', hint: 'There are: ml.embed, plain, nightly.' } },
  })
  expect(await post('/api/v1/tasks', { name: 'plain', options: { priority: 0, colour: 1 } })).toMatchObject({
    status: 400,
    body: { error: { issues: [{ path: 'options.priority' }, { path: 'options' }] } },
  })
  expect(await code('/api/v1/tasks?limit=201')).toMatchObject({
    code: 'BAD_REQUEST',
    issues: [{ path: 'limit' }],
  })
  expect(await code('/api/v1/tasks?cursor=bm9uZQ')).toMatchObject({ code: 'BAD_CURSOR' })
  expect(await code('/api/v1/tasks?status=done')).toMatchObject({ issues: [{ path: 'status' }] })
  expect(await code('/api/v1/queues?limit=1')).toMatchObject({ code: 'BAD_REQUEST' })
  expect(await code('/api/v1/nothing')).toMatchObject({ code: 'NOT_FOUND' })
  expect(await call('/api/v1/tasks', { method: 'PUT' })).toMatchObject({ status: 405 })
})

test('a body that is no JSON, too large, of another kind or too deep is refused', async () => {
  const { call } = await openServer({ bodyLimit: 10_000 })
  const send = (text: string | Uint8Array, headers = {}) =>
    call('/api/v1/tasks', { method: 'POST', text, headers })
  expect(await send('{"name":')).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } })
  expect(await send(new Uint8Array([0x22, 0xff, 0x22]))).toMatchObject({ status: 400 })
  expect(await send(JSON.stringify({ name: 'x'.repeat(10_000) }))).toMatchObject({ status: 413 })
  expect(await send('name=plain', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
    status: 415,
  })
  const deep = `{"name":"plain","input":${'['.repeat(4_000)}${']'.repeat(4_000)}}`
  expect(await send(deep)).toMatchObject({ status: 400 })
})

test('a body whose length nobody said is cut off, too', async () => {
  const { url } = await openServer({ bodyLimit: 10_000 })
  let sent = 0
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1_000
      if (sent > 50_000_000) return controller.close()
      controller.enqueue(new Uint8Array(1_000).fill(0x20))
    },
  })
  const answer = await fetch(`${url}/api/v1/tasks`, {
    method: 'POST',
    body: endless,
    duplex: 'half',
    headers: { origin: url, 'content-type': 'application/json' },
  } as RequestInit).then(
    ({ status }) => status,
    () => 'cut off',
  )
  expect([413, 'cut off']).toContain(answer)
  expect(sent).toBeLessThan(20_000_000)
})

test('no number is changed on the way in: what JavaScript cannot hold is refused', async () => {
  const { call, get } = await openServer()
  const send = (n: string) =>
    call('/api/v1/tasks', { method: 'POST', text: `{"name":"plain","input":{"n":${n}}}` })
  expect(await send('9007199254740993')).toMatchObject({
    status: 400,
    body: {
      error: {
        message: expect.stringContaining('9007199254740993'),
        hint: 'Send it as a string.',
        issues: [{ path: 'input.n', message: expect.stringContaining('9007199254740993') }],
      },
    },
  })
  expect(await send('1e999')).toMatchObject({ status: 400 })
  const { body } = await send('9007199254740991')
  expect(await get(`/api/v1/tasks/${body.id}`)).toMatchObject({ input: { n: 9007199254740991 } })
})
