import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect } from 'vitest'
import { defineTask, type ErrorCode, InputError, openGleaner, StoreError } from '../../../src/index.ts'
import { type Place, test } from './place.ts'

const SECRET = 'hunter2-s3cret'

/** The URL of this run, for somebody else. */
function urlFor(place: Place, change: (url: URL) => void): string {
  const url = new URL(place.url)
  url.password = SECRET
  change(url)
  return url.href
}

/** A user of the server with a password of his own, and no rights. */
async function createRole(place: Place): Promise<string> {
  const role = `r_${randomUUID().replaceAll('-', '')}`
  await place.rows(`CREATE ROLE ${role} LOGIN PASSWORD '${SECRET}'`)
  place.atEnd(async () => {
    await place.rows(`DROP OWNED BY ${role} CASCADE`)
    await place.rows(`DROP ROLE ${role}`)
  })
  return role
}

/** Everything one can find out about an error. */
function told(error: unknown): string {
  const { stack, message } = error as Error
  return `${inspect(error, { depth: null, showHidden: true })}\n${stack}\n${message}\n${JSON.stringify(error)}`
}

async function refusal(place: Place, database: string, options: object = {}): Promise<StoreError> {
  const error = await openGleaner({
    database,
    postgres: { schema: place.schema, connectTimeout: '10s', ...options },
  }).then(
    () => expect.unreachable('it opened'),
    (refused) => refused,
  )
  expect(told(error)).not.toContain(SECRET)
  expect(told(error)).not.toContain(encodeURIComponent(SECRET))
  expect(error).toMatchObject({ code: expect.any(String), hint: expect.any(String) })
  return error
}

/** One message of PostgreSQL's protocol. */
function serverMessage(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const AUTHENTICATED = serverMessage('R', Buffer.alloc(4))
const READY = serverMessage('Z', Buffer.from('I'))

function endedWith(code: string, message: string): Buffer {
  return serverMessage('E', Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`))
}

/** A server that does with a connection whatever `serve` does. */
async function strangeServer(place: Place, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  place.atEnd(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return urlFor(place, (url) => {
    url.port = String(port)
  })
}

describe('opening', () => {
  test('at a port where nobody listens is STORE_AWAY', async ({ place }) => {
    const nobody = (host: string) =>
      urlFor(place, (url) => {
        url.hostname = host
        url.port = '1'
      })
    for (const host of ['127.0.0.1', 'localhost']) {
      const error = await refusal(place, nobody(host))
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({ code: 'STORE_AWAY', message: expect.stringContaining('ECONNREFUSED') })
    }
  })

  test('a host that does not exist is STORE_AWAY', async ({ place }) => {
    const url = urlFor(place, (u) => {
      u.hostname = 'no-such-host.invalid'
    })
    expect(await refusal(place, url)).toMatchObject({ code: 'STORE_AWAY' })
  })

  test('with a wrong password says so, and repeats it nowhere', async ({ place }) => {
    const error = await refusal(
      place,
      urlFor(place, () => {}),
    )
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'STORE_FAILED', hint: expect.stringContaining('password') })
  })

  test('a database that does not exist says that it must be created', async ({ place }) => {
    const url = new URL(place.url)
    url.pathname = '/no_such_database'
    expect(await refusal(place, url.href)).toMatchObject({
      code: 'STORE_FAILED',
      hint: expect.stringContaining('CREATE DATABASE'),
    })
  })

  test('without the right to create a schema says which right is missing, and leaves no connection', async ({
    place,
  }) => {
    const role = await createRole(place)
    const url = urlFor(place, (u) => {
      u.username = role
    })
    expect(await refusal(place, url)).toMatchObject({
      code: 'STORE_FAILED',
      hint: expect.stringContaining('CREATE'),
    })
    const connected = 'SELECT 1 FROM pg_stat_activity WHERE usename = $1'
    await place.until('no connection', async () => (await place.rows(connected, [role])).length === 0)
  })

  test('with a schema of its own needs no right to create one', async ({ place }) => {
    const role = await createRole(place)
    await place.rows(`CREATE SCHEMA ${place.schema} AUTHORIZATION ${role}`)
    const task = defineTask({ name: 'job', run: () => 'done' })
    const engine = await place.open({
      database: urlFor(place, (u) => {
        u.username = role
      }),
      tasks: [task],
    })
    engine.work()
    expect(await (await engine.enqueue(task)).result()).toBe('done')
  })

  test('a server older than 13 is refused, and nothing is created there', async ({ place }) => {
    const proxy = await place.proxy()
    const asked = `pg_catalog.current_setting('server_version_num')`
    proxy.rewrites.push([asked, `'120022'`.padEnd(asked.length)])
    expect(await refusal(place, proxy.url)).toMatchObject({
      code: 'STORE_FAILED',
      hint: 'Gleaner needs PostgreSQL 13 or newer.',
    })
    expect(await place.rows('SELECT 1 FROM pg_namespace WHERE nspname = $1', [place.schema])).toEqual([])
  })

  test('a server that never answers is STORE_AWAY after connectTimeout', async ({ place }) => {
    const url = await strangeServer(place, () => {})
    expect(await refusal(place, url, { connectTimeout: '100ms' })).toMatchObject({ code: 'STORE_AWAY' })
  })

  test('a server that hangs up is STORE_AWAY', async ({ place }) => {
    const url = await strangeServer(place, (socket) => socket.end())
    expect(await refusal(place, url)).toMatchObject({ code: 'STORE_AWAY' })
  })

  test('a server that speaks something else is a typed error', async ({ place }) => {
    const url = await strangeServer(place, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await refusal(place, url, { connectTimeout: '2s' })).toBeInstanceOf(StoreError)
  })

  test('a server that ends a connection together with its greeting is a typed error', async ({ place }) => {
    const url = await strangeServer(place, (socket) =>
      socket.once('data', () =>
        socket.end(Buffer.concat([AUTHENTICATED, READY, endedWith('57P01', 'terminating connection')])),
      ),
    )
    expect(await refusal(place, url, { connectTimeout: '2s' })).toMatchObject({ code: 'STORE_AWAY' })
  })

  test('with TLS at a server that has none says so', async ({ place }) => {
    const url = await strangeServer(place, (socket) => socket.once('data', () => socket.write('N')))
    for (const options of [{ ssl: true }, { ssl: { rejectUnauthorized: false } }]) {
      expect(await refusal(place, url, options)).toMatchObject({
        code: 'STORE_FAILED',
        hint: expect.stringContaining('TLS'),
      })
    }
  })

  const UNREADABLE = [
    `postgres://user:${SECRET}@host:port/database`,
    `postgres://user:${SECRET}@/data base`,
    `postgres://user:${SECRET}%ZZ@127.0.0.1/database`,
    `postgres:user:${SECRET}@host`,
    `mysql://user:${SECRET}@host/database`,
    SECRET,
  ]
  test('what is no URL is refused and not repeated', async ({ place }) => {
    for (const [n, url] of UNREADABLE.entries()) {
      const error = await refusal(place, url, { connectTimeout: '1s' })
      expect([n, error.code]).toEqual([n, 'BAD_CONFIG'])
    }
  })

  const NO_SCHEMAS = [
    '',
    'Gleaner',
    'a b',
    'a"b',
    "a'; DROP TABLE users; --",
    'a.b',
    '1a',
    'ä',
    'a\0',
    'pg_catalog',
    'pg_mine',
    'information_schema',
    'a'.repeat(64),
  ]
  test('a schema with a hostile name is refused before anybody connects', async ({ place }) => {
    const nowhere = 'postgres://127.0.0.1:1/nothing'
    for (const schema of NO_SCHEMAS) {
      for (const [database, options] of [
        [nowhere, { schema }],
        [`${nowhere}?schema=${encodeURIComponent(schema)}`, { schema: undefined }],
      ] as const) {
        const error = await refusal(place, database, options)
        expect([schema, error.code]).toEqual([schema, 'BAD_CONFIG' satisfies ErrorCode])
        expect(error).toBeInstanceOf(InputError)
      }
    }
  })

  test('with a function in ssl is refused: the keeper could not get it', async ({ place }) => {
    expect(await refusal(place, place.url, { ssl: { checkServerIdentity: () => undefined } })).toMatchObject({
      code: 'BAD_OPTION',
    })
  })

  const CONTRADICTIONS = [
    ['sslmode=disable', true],
    ['sslmode=require', false],
    ['ssl=true', false],
    ['sslmode=verify-full', { rejectUnauthorized: false }],
    ['sslmode=verify-full&sslrootcert=ca.pem', { ca: 'another' }],
  ] as const
  test('with a URL that contradicts the ssl option is refused, with both named', async ({ place }) => {
    for (const [parameters, ssl] of CONTRADICTIONS) {
      const error = await refusal(place, `postgres://user:${SECRET}@127.0.0.1:1/app?${parameters}`, { ssl })
      expect([parameters, error.code]).toEqual([parameters, 'BAD_CONFIG' satisfies ErrorCode])
      expect(error.message).toMatch(/postgres\.ssl .*ssl/)
    }
  })
})

test('what a working engine tells of a server that refuses it holds no password', async ({ place }) => {
  const role = await createRole(place)
  await place.rows(`CREATE SCHEMA ${place.schema} AUTHORIZATION ${role}`)
  const task = defineTask({ name: 'job', run: () => 'done' })
  const engine = await place.open({
    database: urlFor(place, (u) => {
      u.username = role
    }),
    tasks: [task],
    timings: { lease: '3s' },
  })
  const problems: { message: string; error: unknown }[] = []
  engine.on('problem', (problem) => problems.push(problem))
  await engine.work().drained()

  await place.rows(`ALTER ROLE ${role} PASSWORD 'another'`)
  // A connection that is just being opened is let in by the old password, and is seen a moment later.
  const refuseAll = () =>
    place.rows('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role])
  let failed: unknown
  await place.until('an enqueue fails', async () => {
    await refuseAll()
    failed = await engine.enqueue(task).catch((error) => error)
    return failed instanceof StoreError
  })
  await place.until('the worker and its keeper tell', async () => {
    await refuseAll()
    return ['exchange', 'keeper'].every((who) =>
      problems.some(({ message, error }) => message.includes(who) && /28P01|password/.test(String(error))),
    )
  })
  expect(told(failed)).not.toContain(SECRET)
  for (const problem of problems) expect(told(problem)).not.toContain(SECRET)

  await place.rows(`ALTER ROLE ${role} PASSWORD '${SECRET}'`)
  expect(await (await engine.enqueue(task)).result()).toBe('done')
})
