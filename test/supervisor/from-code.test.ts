import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import type { WorkerRecord } from '../../src/model/worker.ts'
import { type RunningSupervisor, type SupervisorEvents, startSupervisor } from '../../src/supervisor/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'

const WORKER = 'worker:main:0'
const SCHEMA = () => `t_${crypto.randomUUID().replaceAll('-', '')}`

const DATABASES = {
  sqlite: () => ({ database: `sqlite:${tempDatabase()}` }),
  postgres: () => ({ database: inject('postgresUrl'), postgres: { schema: SCHEMA(), poolSize: 4 } }),
}

const names = Object.keys(DATABASES) as (keyof typeof DATABASES)[]

/** Here they are only enqueued. */
const pid = defineTask({ name: 'pid', run: async () => process.pid })
const fails = defineTask({ name: 'fails', retry: { attempts: 1 }, run: async () => {} })

interface App {
  config: string
  gleaner: Gleaner
}

/** An app with a config file of its own, whose tasks run in worker processes only. */
async function app(name: keyof typeof DATABASES): Promise<App> {
  const place = DATABASES[name]()
  const folder = folderWith(
    {
      'gleaner.config.ts': `import { defineConfig, defineTask } from ${GLEANER}
const pid = defineTask({ name: 'pid', run: async () => process.pid })
const fails = defineTask({ name: 'fails', retry: { attempts: 1 }, run: async () => { throw new Error('no such file') } })
export default defineConfig({
  ...${JSON.stringify(place)}, tasks: [pid, fails],
  pools: { main: { processes: 1, concurrency: 1, queues: ['default'] } },
  supervisor: { name: 'app', timings: { backoff: 20, commands: 100, registry: 200, term: '1s' } },
})`,
    },
    onTestFinished,
  )
  const gleaner = await openGleaner({ ...place, tasks: [pid, fails] })
  onTestFinished(() => gleaner.close())
  return { config: join(folder, 'gleaner.config.ts'), gleaner }
}

async function started({ config }: Pick<App, 'config'>): Promise<RunningSupervisor> {
  const supervisor = await startSupervisor({ config })
  onTestFinished(() => supervisor.stop({ drain: 0 }))
  return supervisor
}

const isRunning = (supervisor: RunningSupervisor) =>
  until('the worker runs', () => supervisor.status(WORKER).status === 'running')

test.each(names)(
  'an app owns its workers on %s: it pauses, resumes, replaces and stops them',
  async (name) => {
    const { config, gleaner } = await app(name)
    const supervisor = await started({ config })
    const seen: WorkerRecord['status'][] = []
    supervisor.on('worker', ({ status }) => seen.push(status))
    await isRunning(supervisor)
    expect(await (await gleaner.enqueue(pid)).result()).toBe(supervisor.status(WORKER).pid)
    supervisor.pause()
    await until('it is paused', () => supervisor.status(WORKER).status === 'paused')
    supervisor.resume(WORKER)
    await isRunning(supervisor)
    const before = supervisor.status(WORKER).pid
    await supervisor.restart(WORKER)
    expect(supervisor.status(WORKER).pid).not.toBe(before)
    expect(supervisor.status().map(({ id, pool }) => [id, pool])).toEqual([[WORKER, 'main']])
    await supervisor.stop({ drain: '5s' })
    await supervisor.ended
    expect(supervisor.status(WORKER)).toMatchObject({ status: 'stopped', pid: null })
    expect(seen).toContain('paused')
  },
)

test('the app hears of failed attempts and of changes of health', async () => {
  const { config, gleaner } = await app('sqlite')
  const supervisor = await started({ config })
  const reports: SupervisorEvents['report'][] = []
  const changes: SupervisorEvents['health'][] = []
  supervisor.on('report', () => {
    throw new Error('a bug of the app')
  })
  supervisor.on('report', (report) => reports.push(report))
  supervisor.on('health', (change) => changes.push(change))
  await isRunning(supervisor)
  await gleaner.enqueue(fails)
  await until('it was reported', () => reports.length === 1)
  expect(reports[0]).toMatchObject({
    worker: WORKER,
    report: { kind: 'failed', name: 'fails', error: { message: 'Error: no such file' }, retryInMs: null },
  })
  await until('it is healthy', () => changes.some(({ status }) => status === 'healthy'))
  await supervisor.stop({ drain: 0 })
  // Of workers there is a history, and no second record beside their own.
  expect((await gleaner.health.history({ component: WORKER })).items.length).toBeGreaterThan(0)
  expect(await gleaner.health.components()).toEqual([])
})

test('there is one supervisor of each name, and what it cannot use it refuses', async () => {
  const { config } = await app('sqlite')
  await started({ config })
  await expect(startSupervisor({ config })).rejects.toMatchObject({ code: 'SUPERVISOR_RUNS' })
  const other = await startSupervisor({ config, name: 'another' })
  await other.stop({ drain: 0 })
  await expect(startSupervisor({ confg: config } as never)).rejects.toThrow('Did you mean config?')
  await expect(startSupervisor({ config: '/nowhere/gleaner.config.ts' })).rejects.toThrow(
    'there is no config',
  )
  await expect(startSupervisor({ config, reports: 'all' as never })).rejects.toThrow('failures, completions')
  const supervisor = await startSupervisor({ config, name: 'third' })
  expect(() => supervisor.status('worker:main:7')).toThrow('worker:main:0')
  await supervisor.stop({ drain: 0 })
})
