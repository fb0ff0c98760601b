import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { gleaner } from './cli.ts'
import { Journey } from './journey.ts'

const TASKS = `import { defineTask } from ${GLEANER}
  import { setTimeout as sleep } from 'node:timers/promises'
  export const whoami = defineTask({ name: 'whoami', run: async () => process.pid })
  export const slow = defineTask({ name: 'slow', run: (_input, ctx) => sleep(60_000, undefined, { signal: ctx.signal }) })
  export const brief = defineTask({ name: 'brief', run: () => sleep(1_500, 'finished') })`
const CONFIG = `import { defineConfig } from ${GLEANER}
  import { brief, slow, whoami } from './tasks.ts'
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [whoami, slow, brief],
    pools: { main: { processes: 1, concurrency: 5 } },
    supervisor: { name: 'test', timings: { commands: 100, registry: 200 } },
  })`
const whoami = defineTask<number>({ name: 'whoami' })
const slow = defineTask({ name: 'slow' })
const brief = defineTask<string>({ name: 'brief' })
const WAIT = { timeout: '25s' } as const

async function project(files: Record<string, string> = { 'tasks.ts': TASKS, 'gleaner.config.ts': CONFIG }) {
  const folder = folderWith(files)
  const app = await openGleaner({
    database: `sqlite:${join(folder, 'app.db')}`,
    tasks: [whoami, slow, brief],
  })
  onTestFinished(() => app.close())
  return { folder, app }
}

async function running(app: Gleaner, id: string): Promise<void> {
  await expect.poll(async () => (await app.tasks.get(id))?.status, { timeout: 20_000 }).toBe('running')
}

test('a database that cannot be reached ends gleaner start with 11, which says what to do and promises nothing else', async () => {
  const folder = folderWith({
    'tasks.ts': TASKS,
    'gleaner.config.ts': CONFIG.replace('sqlite:./app.db', 'postgres://127.0.0.1:1/nothing'),
  })
  const { code, stderr } = await gleaner(folder, 'start')
  expect({ code, stderr }).toEqual({
    code: 11,
    stderr: expect.stringMatching(
      /^error: PostgreSQL: .*ECONNREFUSED.*\nThe server cannot be reached\. Check that it runs.* gleaner start does not wait for it: run it again when the database answers, or .*\.\n$/,
    ),
  })
})

describe('gleaner start', { concurrent: false }, () => {
  test('does work in worker processes, shows them, is refused a second time, and stops in order', async () => {
    const { folder, app } = await project()
    const start = new Journey(folder, 'start')
    await start.hears(/gleaner \d.* on sqlite:.*: 1 pool, 1 worker; Ctrl-C stops/)
    const pid = await (await app.enqueue(whoami)).result(WAIT)
    expect(pid).not.toBe(start.child.pid)
    await expect
      .poll(async () => (await gleaner(folder, 'status')).stdout, { timeout: 10_000 })
      .toMatch(new RegExp(`^worker:main:0 +running +healthy +${pid} .*idle$`, 'm'))

    const second = new Journey(folder, 'start')
    expect(await second.ended).toEqual({ code: 1, signal: null })
    expect(second.said).toMatch(
      new RegExp(`a supervisor test runs already: process ${start.child.pid} on .*since`),
    )

    const handle = await app.enqueue(brief)
    await running(app, handle.id)
    start.signal('SIGINT')
    expect(await start.ended).toEqual({ code: 0, signal: null })
    expect((await app.tasks.get(handle.id))?.result).toBe('finished')
    expect(start.said).toMatch(
      /stopping: running items may finish; press Ctrl-C again to stop now[\s\S]*stopped\n$/,
    )
    expect((await gleaner(folder, 'status')).stdout).toContain('supervisor test is not running')
  })

  test('at the second Ctrl-C ends now, and what is unfinished goes back uncharged', async () => {
    const { folder, app } = await project()
    const start = new Journey(folder, 'start')
    const { id } = await app.enqueue(slow)
    await running(app, id)
    start.signal('SIGINT')
    await start.hears(/stopping: running items may finish/)
    start.signal('SIGINT')
    expect(await start.ended).toEqual({ code: 1, signal: null })
    expect(await app.tasks.get(id)).toMatchObject({ status: 'queued', attempts: 0 })
  })

  test('obeys pause, resume and restart from another process', async () => {
    const { folder, app } = await project()
    const start = new Journey(folder, 'start')
    const before = await (await app.enqueue(whoami)).result(WAIT)
    await gleaner(folder, 'pause')
    await expect
      .poll(async () => (await gleaner(folder, 'status')).stdout, { timeout: 10_000 })
      .toMatch(/^worker:main:0 +paused +healthy/m)
    const waiting = await app.enqueue(whoami)
    await gleaner(folder, 'resume')
    expect(await waiting.result(WAIT)).toBe(before)
    await gleaner(folder, 'workers', 'restart')
    await expect
      .poll(async () => (await app.enqueue(whoami)).result(WAIT), { timeout: 20_000, interval: 200 })
      .not.toBe(before)
    start.signal('SIGTERM')
    expect((await start.ended).code).toBe(0)
  })

  test('--attached stops in order when whoever started it is gone', async () => {
    const { folder, app } = await project()
    const start = new Journey(folder, 'start', '--attached')
    const handle = await app.enqueue(brief)
    await running(app, handle.id)
    start.child.stdin?.end()
    expect(await start.ended).toEqual({ code: 0, signal: null })
    expect((await app.tasks.get(handle.id))?.result).toBe('finished')
  })

  test('logs an alert when it is raised, and when it is over', async () => {
    const config = CONFIG.replace('tasks: [', 'alerts: { every: 100, backlog: 1 }, tasks: [')
    const { folder, app } = await project({ 'tasks.ts': TASKS, 'gleaner.config.ts': config })
    await app.queues.pause('default')
    for (let i = 0; i < 3; i++) await app.enqueue(whoami)
    const start = new Journey(folder, 'start', '--json')
    await start.hears(
      /"queue":"default".*"kind":"backlog".*alert: 3 wait in default, more than 1\. Add workers/,
    )
    await app.queues.resume('default')
    await start.hears(/alert over: backlog of default/)
    expect(start.said.match(/alert: 3 wait in default/g)).toHaveLength(1)
    start.signal('SIGTERM')
    expect((await start.ended).code).toBe(0)
  })

  test('--json writes a log that programs read', async () => {
    const { folder, app } = await project()
    const start = new Journey(folder, 'start', '--json')
    await (await app.enqueue(whoami)).result(WAIT)
    start.signal('SIGTERM')
    expect((await start.ended).code).toBe(0)
    const lines = start.said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toContainEqual(
      expect.objectContaining({ worker: 'worker:main:0', msg: 'worker started', level: 30 }),
    )
  })

  test('without pools, or with a config that is wrong, says so and ends with 1', async () => {
    const none = folderWith({ 'gleaner.config.ts': "export default { database: 'sqlite:./app.db' }" })
    expect(await gleaner(none, 'start')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gleaner.config.ts has no pools'),
    })
  })
})

describe('gleaner work', () => {
  test('works without a supervisor, and stops in order', async () => {
    const { folder, app } = await project()
    const work = new Journey(folder, 'work', 'main')
    expect(await (await app.enqueue(whoami)).result(WAIT)).toBe(work.child.pid)
    const handle = await app.enqueue(brief)
    await running(app, handle.id)
    work.signal('SIGTERM')
    expect(await work.ended).toEqual({ code: 0, signal: null })
    expect((await app.tasks.get(handle.id))?.result).toBe('finished')
  })

  test('ends by itself when it is drained', async () => {
    const { folder, app } = await project()
    const handle = await app.enqueue(whoami)
    const work = new Journey(folder, 'work', '--drained', '--quiet')
    expect(await work.ended).toEqual({ code: 0, signal: null })
    expect(await handle.result(WAIT)).toBe(work.child.pid)
    expect(work.said).toBe('')
  })

  test('ends with 10 when the config is wrong, with 11 when the database is', async () => {
    const wrong = folderWith({ 'gleaner.config.ts': 'export default {}' })
    expect((await gleaner(wrong, 'work')).code).toBe(10)
    const away = folderWith({
      'gleaner.config.ts': `import { defineTask } from ${GLEANER}
        export default { database: 'sqlite:./no/such/folder/app.db', tasks: [defineTask({ name: 'a', run() {} })] }`,
    })
    expect((await gleaner(away, 'work')).code).toBe(11)
    expect((await gleaner(wrong, 'work', '--concurrency', 'x')).code).toBe(2)
  })

  test('ends with 12 when a resource does not load, with 13 after too many resource errors in a row', async () => {
    const folder = folderWith({
      'gleaner.config.ts': `import { defineConfig, defineResource, defineTask, ResourceError } from ${GLEANER}
        const model = defineResource({ name: 'model', retryAfter: '10ms', load: () => { throw new Error('damaged') } })
        const load = defineTask({ name: 'load', queue: 'load', uses: { model }, run() {} })
        const use = defineTask({ name: 'use', queue: 'use', run() { throw new ResourceError('the GPU is gone') } })
        export default defineConfig({ database: 'sqlite:./app.db', tasks: [load, use] })`,
    })
    const { code, stderr } = await gleaner(folder, 'migrate')
    expect({ code, stderr }).toMatchObject({ code: 0 })
    for (const name of ['load', 'use'])
      for (let n = 0; n < 10; n++) expect((await gleaner(folder, 'enqueue', name)).code).toBe(0)
    for (const [queue, exit] of [
      ['load', 12],
      ['use', 13],
    ] as const) {
      const work = new Journey(folder, 'work', '--queues', queue)
      expect(await work.ended).toEqual({ code: exit, signal: null })
      expect(work.said).toContain('gave up after 10 resource errors in a row')
    }
  })
})
