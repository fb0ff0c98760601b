import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type ServeOptions, serve } from '../../src/http/index.ts'
import { defineDiscovery, defineTask, type Gleaner, type GleanerOptions } from '../../src/index.ts'
import { until } from '../until.ts'
import { DATABASES, endSessions, type Scene, sceneOn } from '../worker/claims/scene.ts'
import { ask, type Said } from './server.ts'

const PYTHON = 'the-token-of-python'
const OTHER = 'the-token-of-others'
const OPERATOR = 'the-token-of-operators'
const tokens = [
  { name: 'python', role: 'worker', token: PYTHON, queues: ['ml', 'default'], discoveries: ['tag-files'] },
  { name: 'other', role: 'worker', token: OTHER, queues: ['mail'] },
  { name: 'ops', role: 'operator', token: OPERATOR },
] as const

const embed = defineTask({
  name: 'embed',
  queue: 'ml',
  input: z.object({ path: z.string() }),
  output: z.object({ size: z.number() }),
  retry: { attempts: 2, base: '1h' },
})
const plain = defineTask({ name: 'plain' })
const mail = defineTask({ name: 'mail', queue: 'mail' })
const hasty = defineTask({ name: 'hasty', timeout: '10ms', retry: { attempts: 1 } })
const tagFiles = (table: string) =>
  defineDiscovery({
    name: 'tag-files',
    table,
    key: 'id',
    where: 'needs = 1',
    done: (tags, row) => ({ needs: 0, tags: `${tags} of ${row.id}` }),
  })
const QUICK = { sweep: '20ms', idleMin: '20ms', idleMax: '50ms', grace: '50ms' } as const

interface Item {
  id: string
  fence: number
  [field: string]: any
}

describe.each(DATABASES)('claims over HTTP on %s', (_database, openDatabase) => {
  const optionsOn = ({ tables }: Scene) => ({
    tasks: [embed, plain, mail, hasty],
    discoveries: [tagFiles(tables.named('files'))],
    timings: QUICK,
  })
  async function served(gleaner: Gleaner, options: ServeOptions = { tokens }) {
    const server = await serve(gleaner, { port: 0, ...options })
    onTestFinished(() => server.close())
    const post = (path: string, body: object = {}, token: string | null = PYTHON) =>
      ask(server.url, `/api/v1/claims${path}`, { method: 'POST', body, token })
    const claim = async (body: object = {}, token?: string): Promise<Item[]> => {
      const { status, body: answer } = await post('', body, token)
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(answer)}`)
      return answer.items
    }
    const about = ({ id, fence }: Item, verb: string, more: object = {}, token?: string): Promise<Said> =>
      post(`/${encodeURIComponent(id)}/${verb}`, { fence, ...more }, token)
    return { ...server, post, claim, about }
  }
  async function scene(options: Partial<GleanerOptions> = {}, serving?: ServeOptions) {
    const ground = await sceneOn(openDatabase)
    const gleaner = await ground.open({ ...optionsOn(ground), ...options })
    return { ground, gleaner, ...(await served(gleaner, serving)) }
  }

  test('an item is claimed, reports progress and lines, and is completed with a result', async () => {
    const { gleaner, claim, about } = await scene()
    const handle = await gleaner.enqueue(embed, { path: 'a.flac' })
    const [item] = await claim({ queues: ['ml'], worker: 'gpu-box', lease: '5s' })
    expect(item).toEqual({
      ...{ id: handle.id, fence: expect.any(Number), name: 'embed', queue: 'ml', input: { path: 'a.flac' } },
      ...{ attempt: 1, leaseMs: 5_000, timeoutMs: 3_600_000 },
    })
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'running', worker: 'gpu-box' })
    const alive = { status: 200, body: { leaseMs: 5_000, cancelled: false } }
    expect(await about(item!, 'progress', { fraction: 0.5, message: 'half' })).toMatchObject(alive)
    expect(await about(item!, 'log', { message: 'hello', details: { way: true } })).toMatchObject(alive)
    expect(await about(item!, 'renew')).toMatchObject(alive)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ progress: { fraction: 0.5, message: 'half' } })
    expect((await about(item!, 'complete', { result: { size: 3 } })).status).toBe(204)
    expect(await handle.result()).toEqual({ size: 3 })
    expect((await gleaner.tasks.logs(handle.id)).items).toMatchObject([
      { level: 'info', message: 'hello', attempt: 1 },
    ])
    expect(await claim()).toEqual([])
  })

  test('a result that does not fit is refused, and the claim stays', async () => {
    const { gleaner, claim, about } = await scene()
    const handle = await gleaner.enqueue(embed, { path: 'a' })
    const [item] = await claim()
    expect(await about(item!, 'complete', { result: { size: 'big' } })).toMatchObject({
      status: 422,
      body: { error: { code: 'BAD_INPUT' } },
    })
    expect((await about(item!, 'complete', { result: { size: 1 } })).status).toBe(204)
    expect(await handle.result()).toEqual({ size: 1 })
  })

  test('a wrong fence, a second settlement and another caller get 409 and change nothing', async () => {
    const { gleaner, claim, about } = await scene()
    const { id } = await gleaner.enqueue(plain)
    const [item] = await claim()
    const lost = { status: 409, body: { error: { code: 'CLAIM_LOST' } } }
    const wrong = { ...item!, fence: item!.fence + 1 }
    for (const verb of ['complete', 'release', 'renew'])
      expect(await about(wrong, verb), verb).toMatchObject(lost)
    expect(await about(wrong, 'fail', { error: { message: 'no' } })).toMatchObject(lost)
    expect(await about(wrong, 'progress', { fraction: 1 })).toMatchObject(lost)
    expect(await about(wrong, 'log', { message: 'no' })).toMatchObject(lost)
    expect(await about(item!, 'complete', { result: 'stolen' }, OPERATOR)).toMatchObject(lost)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'running', progress: null })
    expect((await gleaner.tasks.logs(id)).items).toEqual([])
    expect((await about(item!, 'complete', { result: 'first' })).status).toBe(204)
    for (const verb of ['complete', 'release']) expect(await about(item!, verb), verb).toMatchObject(lost)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', result: 'first' })
  })

  test('a failure is retried as its policy says, or as the caller says', async () => {
    const { gleaner, claim, about } = await scene()
    const handles = await gleaner.enqueueMany(embed, [
      { path: 'a' },
      { path: 'b' },
      { path: 'c' },
      { path: 'd' },
    ])
    const [one, two, three, four] = await claim({ limit: 4 })
    await about(one!, 'fail', { error: { message: 'no' } })
    await about(two!, 'fail', { error: { message: 'bad', kind: 'permanent' } })
    await about(three!, 'fail', { error: { message: 'no GPU', kind: 'resource' } })
    await about(four!, 'fail', { error: { message: 'soon' }, retry: '1ms' })
    expect(await Promise.all(handles.map(({ id }) => gleaner.tasks.get(id)))).toMatchObject([
      { status: 'scheduled', attempts: 1, error: { kind: 'error', message: 'no' } },
      { status: 'failed', error: { kind: 'permanent', message: 'bad' } },
      { status: 'scheduled', attempts: 0 },
      { attempts: 1, error: { message: 'soon' } },
    ])
    expect(await claim({ wait: '10s' })).toMatchObject([{ id: four!.id, attempt: 2 }])
  })

  test('a claim waits for work; a caller that goes away gets nothing', async () => {
    const { gleaner, claim, url } = await scene()
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${PYTHON}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ wait: '30s', worker: 'leaver' })
    const leaver = fetch(`${url}/api/v1/claims`, { method: 'POST', headers, body, signal: gone.signal })
    const isThere = async () => (await gleaner.workers.list()).some(({ id }) => id === 'leaver')
    await until('it waits', isThere)
    gone.abort()
    await expect(leaver).rejects.toThrow()
    const waiting = claim({ wait: '30s', worker: 'stayer' })
    await until('another waits', async () =>
      (await gleaner.workers.list()).some(({ id, pid }) => id === 'stayer' && pid === null),
    )
    const { id } = await gleaner.enqueue(plain)
    expect(await waiting).toMatchObject([{ id, attempt: 1 }])
  })

  test('a lease that its caller does not renew ends: the attempt counts, and late writes are refused', async () => {
    const { gleaner, claim, about } = await scene()
    const { id } = await gleaner.enqueue(plain)
    const [first] = await claim({ lease: '1s', worker: 'dead' })
    const [second] = await claim({ wait: '30s', worker: 'next' })
    expect(second).toMatchObject({ id, attempt: 2 })
    expect(second!.fence).toBeGreaterThan(first!.fence)
    expect(await about(first!, 'complete', { result: 'late' })).toMatchObject({ status: 409 })
    expect((await about(second!, 'complete', { result: 'in time' })).status).toBe(204)
    expect(await gleaner.tasks.get(id)).toMatchObject({ result: 'in time', crashes: 0 })
    expect((await gleaner.tasks.attempts(id))[0]).toMatchObject({ outcome: 'lease', worker: 'dead' })
  })

  test('each call renews the lease, also for the other items of its batch and not for an earlier life', async () => {
    const { gleaner, claim, about } = await scene()
    await gleaner.enqueueMany(plain, [undefined, undefined, undefined])
    const [orphan] = await claim({ lease: '1s', worker: 'box' })
    const [one, two] = await claim({ lease: '1s', worker: 'box', limit: 2 })
    await until('the first life is over', async () => {
      expect(await about(one!, 'renew')).toMatchObject({ status: 200 })
      return (await gleaner.tasks.get(orphan!.id))?.status === 'queued'
    })
    expect((await about(two!, 'complete')).status).toBe(204)
    expect((await about(one!, 'complete')).status).toBe(204)
    expect((await about(orphan!, 'complete')).status).toBe(409)
  })

  test('another server of the same database goes on with a claim', async () => {
    const { ground, gleaner, claim, close } = await scene()
    const handle = await gleaner.enqueue(embed, { path: 'a' })
    const [item] = await claim()
    await close()
    await gleaner.close()
    const other = await ground.open(optionsOn(ground))
    const { about } = await served(other)
    expect(await about(item!, 'renew')).toMatchObject({ status: 200 })
    expect((await about(item!, 'complete', { result: { size: 2 } })).status).toBe(204)
    expect(await other.tasks.get(handle.id)).toMatchObject({ status: 'completed', result: { size: 2 } })
  })

  test('a cancel and a time-out are told with the next renewal, and a time-out that is ignored fails', async () => {
    const { gleaner, claim, about } = await scene({ timings: { ...QUICK, grace: '1h' } })
    const handle = await gleaner.enqueue(plain)
    const [item] = await claim()
    await handle.cancel()
    expect(await about(item!, 'renew')).toMatchObject({ body: { cancelled: true } })
    expect((await about(item!, 'fail', { error: { message: 'stopped' } })).status).toBe(204)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'cancelled' })
    await gleaner.enqueue(hasty)
    const [late] = await claim()
    await until('its time is over', async () => (await about(late!, 'renew')).body.cancelled)
  })

  test('a time-out that a caller ignores fails the attempt, and its late result is refused', async () => {
    const { gleaner, claim, about } = await scene()
    const { id } = await gleaner.enqueue(hasty)
    const [item] = await claim()
    await until('its grace is over', async () => (await about(item!, 'renew')).status === 409)
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'failed', error: { kind: 'timeout' } })
    expect((await about(item!, 'complete')).status).toBe(409)
  })

  test('a completion after a cancel is accepted while the claim is held, and refused afterwards', async () => {
    const { gleaner, claim, about } = await scene()
    const handles = await gleaner.enqueueMany(plain, [undefined, undefined])
    const [one, two] = await claim({ limit: 2 })
    for (const handle of handles) await handle.cancel()
    expect((await about(one!, 'complete', { result: 'done anyway' })).status).toBe(204)
    expect((await about(two!, 'release')).status).toBe(204)
    expect((await about(two!, 'complete')).status).toBe(409)
    expect(await gleaner.tasks.counts()).toMatchObject({ completed: 1, cancelled: 1 })
  })

  test('rows are claimed the same way, by path or by body', async () => {
    const { ground, claim, about, post } = await scene()
    const files = ground.tables.named('files')
    await ground.tables.run(`INSERT INTO ${files} VALUES (1, NULL, 1), (2, NULL, 1), (3, NULL, 1)`)
    const [one, two, three] = await claim({ discoveries: ['tag-files'], limit: 3 })
    expect(one).toMatchObject({
      id: 'tag-files/1',
      name: 'tag-files',
      queue: null,
      input: { id: 1, needs: 1 },
    })
    expect((await about(one!, 'complete', { result: 'rock' })).status).toBe(204)
    const { id, fence } = two!
    expect((await post('/complete', { id, fence, result: 'pop' })).status).toBe(204)
    await ground.tables.run(`UPDATE ${files} SET tags = 'edited' WHERE id = 3`)
    expect(await about(three!, 'complete', { result: 'folk' })).toMatchObject({ status: 409 })
    expect(await ground.tables.rows(`SELECT tags FROM ${files} ORDER BY id`)).toMatchObject([
      { tags: 'rock of 1' },
      { tags: 'pop of 2' },
      { tags: 'edited' },
    ])
    const [again] = await claim({ discoveries: ['tag-files'] })
    expect(again).toMatchObject({ id: 'tag-files/3', attempt: 1, input: { tags: 'edited' } })
    await ground.tables.run(`DELETE FROM ${files}`)
    expect(await about(again!, 'complete', { result: 'folk' })).toMatchObject({ status: 409 })
  })

  test('a row with any key is named by its id, in the path and in the body', async () => {
    const keys = ['..', '.', '', 'a/b', 'a%2Fb', 'ü ?#&', '..%2f..', '"]', "';--"]
    const ground = await sceneOn(openDatabase)
    const table = ground.tables.named('words')
    await ground.tables.run(`CREATE TABLE ${table} (id text PRIMARY KEY, needs integer NOT NULL)`)
    const values = keys.map((key) => `('${key.replaceAll("'", "''")}', 1)`)
    await ground.tables.run(`INSERT INTO ${table} VALUES ${values.join(', ')}`)
    const words = { name: 'tag-files', table, key: 'id', where: 'needs = 1', done: () => ({ needs: 0 }) }
    const { claim, about, post } = await served(await ground.open({ discoveries: [defineDiscovery(words)] }))
    const items = await claim({ limit: 100 })
    expect(items.map(({ id }) => id).toSorted()).toEqual(keys.map((key) => `tag-files/${key}`).toSorted())
    for (const [n, item] of items.entries()) {
      const { id, fence } = item
      const said = n % 2 === 0 ? await about(item, 'complete') : await post('/complete', { id, fence })
      expect(said.status, id).toBe(204)
    }
    expect(await ground.tables.rows(`SELECT * FROM ${table} WHERE needs = 1`)).toEqual([])
  })

  test('a worker may claim only what its token names, and nothing else', async () => {
    const { gleaner, post, claim, about, url } = await scene()
    await gleaner.enqueue(mail)
    await gleaner.enqueue(plain)
    const forbidden = { status: 403, body: { error: { code: 'FORBIDDEN' } } }
    expect(await post('', { queues: ['mail'] })).toMatchObject(forbidden)
    expect(await post('', { discoveries: ['tag-files'] }, OTHER)).toMatchObject(forbidden)
    expect(await claim({ queues: ['ml'] })).toEqual([])
    expect(await claim({ limit: 10 })).toMatchObject([{ name: 'plain' }])
    const [item] = await claim({}, OTHER)
    expect(item).toMatchObject({ name: 'mail' })
    expect(await ask(url, '/api/v1/tasks', { token: PYTHON })).toMatchObject(forbidden)
    expect(await about(item!, 'complete', {}, PYTHON)).toMatchObject({ status: 409 })
    expect((await about(item!, 'complete', {}, OTHER)).status).toBe(204)
  })

  test('`authorize` names what a worker may claim, and a worker without names gets nothing', async () => {
    const authorize = (request: Request) => {
      const user = request.headers.get('x-user')
      if (user === 'nobody') return 'worker'
      return user === null ? null : ({ role: 'worker', user, queues: ['mail'] } as const)
    }
    const { gleaner, url } = await scene({}, { authorize })
    await gleaner.enqueue(mail)
    const as = (user: string, body: object) =>
      ask(url, '/api/v1/claims', { method: 'POST', body, headers: { 'x-user': user } })
    expect(await as('nobody', { queues: ['mail'] })).toMatchObject({ status: 403 })
    expect(await as('nobody', {})).toMatchObject({ status: 400 })
    expect(await as('mia', { queues: ['ml'] })).toMatchObject({ status: 403 })
    expect(await as('mia', {})).toMatchObject({ status: 200, body: { items: [{ name: 'mail' }] } })
  })

  test('requests that are not possible are refused', async () => {
    const { post } = await scene()
    const refused: [object, number, RegExp][] = [
      [{ wait: '31s' }, 400, /too long/],
      [{ lease: '500ms' }, 400, /lease: "500ms"/],
      [{ lease: '11m' }, 400, /lease: "11m"/],
      [{ limit: 0 }, 400, /limit/],
      [{ names: ['embd'] }, 404, /there is no task/],
      [{ queue: 'ml' }, 400, /queue/],
    ]
    for (const [body, status, message] of refused)
      expect(await post('', body), JSON.stringify(body)).toMatchObject({
        status,
        body: { error: { message: expect.stringMatching(message) } },
      })
    expect(await post('/complete', { id: 'nonsense', fence: 1 })).toMatchObject({ status: 409 })
    expect(await post('/1/complete', {})).toMatchObject({ status: 400 })
  })

  test('sessions that another process ends are replaced without a word', async () => {
    const { ground, gleaner, claim, about } = await scene()
    await claim()
    await endSessions(ground.database)
    const { id } = await gleaner.enqueue(plain)
    const [item] = await claim()
    expect(item).toMatchObject({ id })
    expect((await about(item!, 'complete')).status).toBe(204)
  })
})
