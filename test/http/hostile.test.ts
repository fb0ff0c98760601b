import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/http/api.ts'
import { createApi } from '../../src/http/index.ts'
import { openGleaner } from '../../src/index.ts'
import { tempDatabase } from '../temp-database.ts'
import { DATABASES, embed, LOCAL, nightly, plain } from './server.ts'

/** What somebody might send who means no good, or knows no better. */
const CORPUS: unknown[] = [
  "'; DROP TABLE gleaner_tasks; --",
  '1 OR 1=1',
  '" UNION SELECT * FROM gleaner_meta --',
  '$1; $2',
  '%27%20OR%201=1',
  '../../../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  'file:///etc/passwd',
  'C:\\windows\\win.ini',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '{{7*7}}#{7*7}',
  '$(touch /tmp/pwned)`id`;|&',
  'a\r\nSet-Cookie: x=1\r\n\r\nHTTP/1.1 200 OK',
  'nul\0byte',
  '\ud800',
  '\u202e\u0000\ufeff\u{1f4a9}',
  '__proto__',
  'constructor',
  'toString',
  '',
  ' ',
  'x'.repeat(3_000),
  '0',
  '-1',
  '1e309',
  'NaN',
  'Infinity',
  '99999999999999999999',
  '0x7fffffff',
  '2038-01-19T03:14:08Z',
  '+275760-09-13T00:00:00.001Z',
  'null',
  'true',
  null,
  true,
  0,
  -1,
  1.5,
  Number.MAX_SAFE_INTEGER,
  1e300,
  [],
  [[]],
  {},
  { $gt: '' },
  { toString: 1 },
  { length: -1 },
  JSON.parse('{"__proto__":{"admin":true}}'),
]

async function target(database: () => object) {
  const shared = { database: `sqlite:${tempDatabase()}`, tasks: [embed, plain, nightly], ...database() }
  const gleaner = await openGleaner(shared)
  const problems: unknown[] = []
  gleaner.on('problem', ({ error }) => problems.push(error))
  const api = createApi(gleaner, { local: true })
  onTestFinished(async () => {
    api.close()
    await gleaner.close()
  })
  await gleaner.enqueue(plain)
  const send = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://localhost${path}`, {
      method: method.toUpperCase(),
      ...(body === undefined || ['get', 'head'].includes(method) ? {} : { body }),
      headers: { origin: 'http://localhost', 'content-type': 'application/json', ...headers },
    })
    const response = await api.fetch(request, LOCAL)
    const isStream = response.headers.get('content-type')?.includes('event-stream')
    const text = isStream ? '' : await response.text()
    if (isStream) await response.body?.cancel()
    return { status: response.status, text, response }
  }
  return { gleaner, send, problems }
}

/** What must be true of every answer, whatever was sent. */
function expectDecent(
  { status, text, response }: Awaited<ReturnType<Awaited<ReturnType<typeof target>>['send']>>,
  what: string,
) {
  expect(status, `${what}: ${text}`).toBeLessThan(500)
  expect(response.headers.get('set-cookie'), what).toBe(null)
  if (status < 400 || text === '') return
  const { error } = JSON.parse(text)
  expect(Object.keys(error).sort(), what).toEqual(expect.arrayContaining(['code', 'hint', 'message']))
  expect(error.message.length, what).toBeLessThan(3_000)
  // No stack, no SQL, no path of ours.
  expect(text, what).not.toMatch(/node_modules|\.ts:\d|sqlite_|SQLITE|syntax error|pg_catalog/)
}

function fieldsOf(schema: any): string[] {
  const shape = schema?._zod?.def?.shape ?? schema?._zod?.def?.innerType?._zod?.def?.shape ?? {}
  return Object.entries(shape).flatMap(([name, inner]) => [
    name,
    ...fieldsOf(inner).map((deeper) => `${name}.${deeper}`),
  ])
}

function put(fields: string, value: unknown): object {
  const [first, ...rest] = fields.split('.')
  return { [first!]: rest.length === 0 ? value : put(rest.join('.'), value) }
}

describe.each([
  ['sqlite', DATABASES.sqlite, CORPUS],
  // What speaks to a database; what the schemas refuse does not come so far.
  ['postgres', DATABASES.postgres, CORPUS.slice(0, 20)],
] as const)('on %s', (_name, database, corpus) => {
  test('a corpus of hostile payloads goes through every field, and nothing breaks or leaks', async () => {
    const { gleaner, send, problems } = await target(database)
    let sent = 0
    const decent = async (method: string, path: string, body?: unknown) => {
      sent += 1
      expectDecent(
        await send(method, path, body === undefined ? undefined : JSON.stringify(body)),
        `${method} ${path}`,
      )
    }
    // The whole engine stands still and everything is checked: not with payloads.
    // Retry and remove take the same as cancel.
    const routes = ROUTES.filter(({ path }) => !/maintenance.check|tasks.(retry|remove)$/.test(path))
    const texts = corpus.filter((one) => typeof one === 'string').map((one) => one.toWellFormed())
    for (const { method, path, query, body, params } of routes) {
      const known = path.replaceAll(/:\w+/g, '1')
      for (const text of texts) {
        const encoded = encodeURIComponent(text)
        if (params !== undefined) await decent(method, `/api/v1${path.replaceAll(/:\w+/g, encoded)}`)
        for (const field of query === undefined ? [] : fieldsOf(query))
          await decent(method, `/api/v1${known}?${field}=${encoded}`)
      }
      if (body === undefined) continue
      const base =
        path.startsWith('/tasks') && !/retry|cancel|remove/.test(path)
          ? { name: 'plain', inputs: [] }
          : { dryRun: true }
      for (const payload of corpus) {
        await decent(method, `/api/v1${known}`, payload)
        for (const field of fieldsOf(body))
          await decent(method, `/api/v1${known}`, { ...base, ...put(field, payload) })
      }
    }
    expect(sent).toBeGreaterThan(1_000)
    expect(problems).toEqual([])
    expect((Object.prototype as any).admin).toBe(undefined)
    expect(await gleaner.maintenance.check()).toEqual([])
  }, 180_000)
})

test('hostile headers do nothing', async () => {
  const { send } = await target(DATABASES.sqlite)
  const texts = CORPUS.filter((one) => typeof one === 'string' && /^[\x20-\x7e]*$/.test(one)) as string[]
  for (const header of [
    'authorization',
    'last-event-id',
    'origin',
    'sec-fetch-site',
    'content-type',
    'accept',
    'cookie',
  ])
    for (const text of texts)
      for (const path of ['/api/v1/events', '/api/v1/info'])
        expectDecent(await send('get', path, undefined, { [header]: text }), `${header}: ${text}`)
})

const TORTURE = process.env.GLEANER_TORTURE === '1'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(...(CORPUS.filter((one) => typeof one === 'string') as string[])),
)
const part = fc.oneof(text, fc.constantFrom('1', 'default', 'plain', 'nightly'))
const QUERY_NAMES = ['limit', 'cursor', 'status', 'tasks', 'window', 'topics', 'finishedAfter', 'state']
const HEADER_NAMES = [
  'authorization',
  'content-length',
  'content-type',
  'cookie',
  'forwarded',
  'last-event-id',
  'origin',
  'range',
  'sec-fetch-site',
  'traceparent',
  'x-forwarded-for',
]
/** Mostly as it should be: whatever is wrong at the door never comes further. */
const mostly = <T>(usual: fc.Arbitrary<T>, otherwise: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: usual, weight: 7 }, { arbitrary: otherwise, weight: 1 })
const none = <T>() => fc.constant<T[]>([])
const sensible: fc.Arbitrary<object> = fc.record(
  {
    name: mostly(fc.constantFrom('plain', 'ml.embed', 'nightly'), part),
    input: fc.oneof(fc.record({ path: text }), fc.jsonValue()),
    inputs: fc.array(fc.oneof(fc.record({ path: text }), fc.jsonValue()), { maxLength: 3 }),
    options: mostly(
      fc.dictionary(fc.constantFrom('key', 'queue', 'runAfter', 'priority'), part),
      fc.jsonValue(),
    ),
    filter: mostly(fc.record({ status: fc.constantFrom('queued', 'failed'), error: text }), fc.jsonValue()),
    dryRun: fc.boolean(),
  },
  { requiredKeys: ['name'] },
)

/** Everything that a request has. */
const request = fc.record({
  route: fc.constantFrom(
    ...ROUTES.filter(({ path, role }) => path !== '/maintenance/check' && role !== null),
  ),
  method: mostly(
    fc.constant(null),
    fc.constantFrom('get', 'post', 'put', 'delete', 'patch', 'options', 'head'),
  ),
  path: mostly(fc.constant(null), fc.array(part, { maxLength: 4 })),
  parts: fc.array(part, { minLength: 2, maxLength: 2 }),
  query: fc.oneof(
    none<[string, string]>(),
    fc.array(fc.tuple(mostly(fc.constantFrom(...QUERY_NAMES), text), part), { maxLength: 3 }),
  ),
  headers: mostly(
    fc.constant({}),
    fc.dictionary(fc.constantFrom(...HEADER_NAMES), fc.string({ unit: 'grapheme-ascii' }), { maxKeys: 2 }),
  ),
  body: mostly<string | object>(sensible, fc.oneof(fc.json({ maxDepth: 4 }), text)),
})

/** Only what is asked for: anything else is refused before it is looked at. */
function fitting(body: object, schema: unknown): object {
  const fields = fieldsOf(schema)
  return Object.fromEntries(Object.entries(body).filter(([name]) => fields.includes(name)))
}

describe.each([
  ['sqlite', DATABASES.sqlite, TORTURE ? 10_000 : 1_000],
  ['postgres', DATABASES.postgres, TORTURE ? 10_000 : 1_000],
] as const)('on %s', (_name, database, requests) => {
  test('no request whatsoever makes the server fail', async () => {
    const { gleaner, send, problems } = await target(database)
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(request, async ({ route, method, path, parts, query, headers, body }) => {
        const encoded = (one: string) => encodeURIComponent(one.toWellFormed())
        let next = 0
        const verb = method ?? route.method
        const known = `/api/v1${route.path.replaceAll(/:\w+/g, () => encoded(parts[next++ % 2]!) || 'x')}`
        const asked = path === null ? known : `/${path.map(encoded).join('/')}`
        const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
        const url = pairs === '' ? asked : `${asked}?${pairs}`
        const sent =
          typeof body === 'string' ? body.toWellFormed() : JSON.stringify(fitting(body, route.body))
        const answer = await send(verb, url, sent, headers)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        expectDecent(answer, `${verb} ${url} ${JSON.stringify(headers)} ${sent}`)
      }),
      // The same every time, so that whoever changes something else is not told of what was always so.
      { numRuns: requests, seed: Number(process.env.GLEANER_SEED ?? 7) },
    )
    if (TORTURE) console.log(`${requests} requests were answered with`, Object.fromEntries(statuses))
    // Neither all refused at the door, nor all at the schemas.
    for (const status of [200, 201, 204, 400, 403, 404, 405]) expect([...statuses.keys()]).toContain(status)
    expect(problems).toEqual([])
    expect(await gleaner.maintenance.check()).toEqual([])
  }, 600_000)
})
