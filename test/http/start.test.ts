import { chmodSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { gleaner } from '../cli/cli.ts'
import { Journey } from '../cli/journey.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { until } from '../until.ts'
import { listen } from './listener.ts'
import { ask } from './server.ts'

const config = (more: string) => `import { defineConfig, defineTask } from ${GLEANER}
  const greet = defineTask({ name: 'greet', run: async () => process.pid })
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [greet], pools: { main: { processes: 1 } },
    supervisor: { name: 'http-test', timings: { commands: 100, registry: 200 } },
    ${more}
  })`
const TOKEN = 'a-long-secret-of-operators'

test.each([
  ['sqlite', () => ({})],
  [
    'postgres',
    () => ({
      GLEANER_DATABASE: `${inject('postgresUrl')}?schema=t_${crypto.randomUUID().replaceAll('-', '')}`,
    }),
  ],
])('gleaner start serves the API of the whole house, on %s', async (_name, env) => {
  const folder = folderWith({
    'gleaner.config.ts': config(`server: { port: 0, token: '${TOKEN}', redact: ['*.password'] }`),
  })
  const start = new Journey({ cwd: folder, env: env() }, 'start')
  const url = (await start.hears(/serving (http:\S+)/))[1]!
  await start.hears(/dashboard: http:\/\/127\.0\.0\.1:\d+\/ \(sign in as the config says\)/)
  expect(await ask(url, '/api/v1/info')).toMatchObject({ status: 401 })
  const call = { token: TOKEN }
  const { body } = await ask(url, '/api/v1/tasks', { ...call, method: 'POST', body: { name: 'greet' } })
  const events = await listen(`${url}/api/v1/events?tasks=${body.id}`, { authorization: `Bearer ${TOKEN}` })
  await events.until(({ event, data }) => event === 'task' && data.task.status === 'completed')
  const task = (await ask(url, `/api/v1/tasks/${body.id}`, call)).body
  expect(task.worker).toMatch(/^worker:main:0/)
  expect(task.result).not.toBe(start.child.pid)
  // What a supervisor reports comes a moment later than what its workers do.
  const healthy = async () =>
    (await ask(url, '/api/v1/health', call)).body.components[0]?.status === 'healthy'
  await until('the worker is healthy', healthy)
  const workers = (await ask(url, '/api/v1/workers', call)).body.items
  expect(workers).toMatchObject([{ id: 'worker:main:0', pool: 'main', status: 'running' }])
  expect((await ask(url, '/metrics', call)).body).toContain('gleaner_workers{health="healthy"} 1')
  const post = (path: string) => ask(url, `/api/v1/workers/${path}`, { ...call, method: 'POST' })
  expect(await post('worker:main:0/pause')).toMatchObject({ status: 204 })
  await events.until(({ event, data }) => event === 'workers' && data.workers[0]?.status === 'paused')
  expect(await post('resume')).toMatchObject({ status: 204 })
  await events.until(({ event, data }) => event === 'workers' && data.workers[0]?.status === 'running')
  expect(await post('worker:main:0/restart')).toMatchObject({ status: 204 })
  await events.until(
    ({ event, data }) => event === 'workers' && data.workers.some(({ pid }: any) => pid !== workers[0].pid),
  )
  expect(await post('worker:none:0/restart')).toMatchObject({ status: 404 })
  expect((await ask(url, '/api/v1/health/history', call)).status).toBe(200)
  expect(await ask(url, '/readyz')).toMatchObject({ status: 200 })
  start.signal('SIGTERM')
  expect(await start.ended).toEqual({ code: 0, signal: null })
  await events.ended
})

test('a port that is taken is said, and the work goes on', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  const start = new Journey(folderWith({ 'gleaner.config.ts': config(`server: { port: ${port} }`) }), 'start')
  await start.hears(/cannot listen on 127\.0\.0\.1:\d+.*The server retries every 5 s/)
  await start.hears(/1 pool, 1 worker/)
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)
})

test('without tokens gleaner start makes one that only its user can read, and the command line finds it', async () => {
  const folder = folderWith({ 'gleaner.config.ts': config(`server: { port: 0, host: '0.0.0.0' }`) })
  const start = new Journey(folder, 'start')
  const [, url, token] = (await start.hears(
    /dashboard: (http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)/,
  )) as string[]
  const file = join(folder, 'app.db.token')
  expect(readFileSync(file, 'utf8').trim()).toBe(token)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await ask(url!, '/api/v1/info')).toMatchObject({ status: 401 })
  expect(await ask(url!, '/api/v1/info', { token: token! })).toMatchObject({
    body: { role: 'operator', user: 'owner' },
  })
  // As a program sends it: `curl -X POST`.
  const pause = await fetch(`${url}/api/v1/pause`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(pause.status).toBe(204)
  expect(await gleaner(folder, 'resume', '--url', url!)).toMatchObject({ code: 0 })
  // Another server on another machine would learn the token.
  const elsewhere = await gleaner(folder, 'status', '--url', url!.replace('127.0.0.1', hostname()))
  expect(elsewhere.code).toBe(1)
  start.signal('SIGTERM')
  expect((await start.ended).code).toBe(0)

  chmodSync(file, 0o644)
  const again = new Journey(folder, 'start')
  expect((await again.ended).code).toBe(1)
  expect(again.said).toMatch(/cannot use the token in .*app\.db\.token: other users can read or write it/)
})

test('a log that is collected names the file of the token, not the token', async () => {
  const folder = folderWith({ 'gleaner.config.ts': config('server: { port: 0 }') })
  const start = new Journey(folder, 'start', '--json')
  await start.hears(/dashboard: http:\S+ \(the token is in \S+app\.db\.token\)/)
  start.signal('SIGTERM')
  await start.ended
  expect(start.said).not.toContain(readFileSync(join(folder, 'app.db.token'), 'utf8').trim())
})

test('a server that could be reached from elsewhere without a token is refused before anything starts', async () => {
  const folder = folderWith({
    'gleaner.config.ts': config(`server: { host: '0.0.0.0', port: 0, local: true }`),
  })
  const start = new Journey(folder, 'start')
  expect((await start.ended).code).toBe(1)
  expect(start.said).toContain('would let every machine in')
  expect(start.said).not.toContain('1 worker')
})
