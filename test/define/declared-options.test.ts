import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkConfig } from '../../src/config/check.ts'
import { checkAll, checkRun } from '../../src/define/flow.ts'
import { checkStep, checkWait } from '../../src/define/step.ts'
import { HealthMonitor } from '../../src/health/index.ts'
import {
  defineDiscovery,
  defineResource,
  defineTask,
  type Gleaner,
  implement,
  openGleaner,
  restoreBackup,
} from '../../src/index.ts'
import { copyDatabase } from '../../src/maintenance/copy.ts'
import { declaredOptions } from '../../src/options.ts'
import { startSupervisor } from '../../src/supervisor/index.ts'

const run = () => {}
const task = defineTask({ name: 'job', run })
const later = defineTask({ name: 'later' })

let gleaner: Gleaner
beforeAll(async () => {
  gleaner = await openGleaner({ database: 'sqlite::memory:', tasks: [task] })
})
afterAll(() => gleaner.close())

const open = (options: object) => openGleaner({ database: 'sqlite::memory:', ...options })
const config = (options: object) =>
  checkConfig({ database: 'sqlite:./a.db', ...options }, '/app/config.ts', {})
const discovery = { name: 'rows', table: 'files', key: 'id', where: 'todo', run, done: () => ({}) }

/** How a user hands over each options object. */
const GIVEN: Record<string, (options: any) => unknown> = {
  openGleaner: open,
  hooks: (hooks) => open({ hooks }),
  limits: (limits) => open({ limits }),
  timings: (timings) => open({ timings }),
  postgres: (postgres) => open({ postgres }),
  sqlite: (sqlite) => open({ sqlite }),
  queues: (ml) => open({ queues: { ml } }),
  retention: (retention) => open({ retention }),
  'retention of a status': (completed) => open({ retention: { completed } }),
  work: (options) => gleaner.work(options),
  claim: (options) => gleaner.claim(options),
  enqueue: (options) => gleaner.enqueue(task, undefined, options),
  'a filter of tasks': (query) => gleaner.tasks.list(query),
  'a change of many tasks': (options) => gleaner.tasks.cancelAll({ status: 'queued' }, options),
  rows: (query) => gleaner.discoveries.rows('files', query),
  metrics: (options) => gleaner.metrics(options),
  'health.history': (query) => gleaner.health.history(query),
  backup: (options) => gleaner.maintenance.backup('/nowhere/backup.db', options),
  restore: (options) => gleaner.maintenance.restore('/nowhere/backup.db', options),
  optimize: (options) => gleaner.maintenance.optimize(options),
  prune: (watch) => gleaner.maintenance.prune({}, watch),
  copyDatabase: (options) =>
    copyDatabase({ from: 'sqlite:/nowhere/a.db', to: 'postgres://nowhere', ...options }),
  restoreBackup: (options) =>
    restoreBackup('/nowhere/backup.db', { database: 'sqlite:/nowhere/a.db', ...options }),
  defineTask: (options) => defineTask({ name: 'a', run, ...options }),
  implement: (options) => implement(later, { run, ...options }),
  retry: (retry) => defineTask({ name: 'a', run, retry }),
  limit: (limit) => defineTask({ name: 'a', run, limit: { key: () => 'a', concurrency: 1, ...limit } }),
  batch: (batch) => defineTask({ name: 'a', run: () => [], batch }),
  // Their values are checked where the children are enqueued.
  'ctx.run': (options) => gleaner.enqueue(task, undefined, checkRun(options)),
  'ctx.all': (options) => gleaner.enqueue(task, undefined, checkAll('all', [], options).enqueue),
  'ctx.waitFor': (options) => checkWait('signal', options),
  'gleaner.batch': (options) => gleaner.batch('all', [[task]], options),
  row: (options) => gleaner.discoveries.row('files', '1', options),
  'ctx.step': (options) => checkStep('step', run, options),
  defineResource: (options) => defineResource({ name: 'gpu', load: run, ...options }),
  defineDiscovery: (options) => defineDiscovery({ ...discovery, ...options }),
  HealthMonitor: (options) => new HealthMonitor(options),
  history: (history) => new HealthMonitor({ history: { gleaner, ...history } }),
  startSupervisor: (options) => startSupervisor({ config: '/nowhere/gleaner.config.ts', ...options }),
  'the config': config,
  server: (server) => config({ server }),
  tokens: (token) =>
    config({ server: { tokens: [{ name: 'a', role: 'viewer', token: 'x'.repeat(32), ...token }] } }),
  supervisor: (supervisor) => config({ supervisor }),
  'supervisor.timings': (timings) => config({ supervisor: { timings } }),
  'supervisor.limits': (limits) => config({ supervisor: { limits } }),
  alerts: (alerts) => config({ alerts }),
  pools: (main) => config({ pools: { main } }),
}

async function refusal(
  of: string,
  options: object,
): Promise<{ code?: string; message: string; hint: string }> {
  try {
    await GIVEN[of]!(options)
  } catch (error) {
    return error as never
  }
  throw new Error(`${of} takes ${Object.keys(options)}`)
}

test('every declared options object is tried here', () => {
  expect(
    declaredOptions()
      .map(({ of }) => of)
      .sort(),
  ).toEqual(Object.keys(GIVEN).sort())
})

describe.each(declaredOptions())('$of', ({ of, names }) => {
  test('refuses a field that it does not have, and says which it has', async () => {
    const { code, hint } = await refusal(of, { notThere: 1 })
    expect(code).toMatch(/^BAD_/)
    for (const name of names) expect(hint).toContain(name)
  })

  test.each(names)('knows what was meant by %s without its last letter', async (name) => {
    const misspelt = name.slice(0, -1)
    if (names.includes(misspelt)) return
    const { code, hint } = await refusal(of, { [misspelt]: 1 })
    expect(code).toMatch(/^BAD_/)
    expect(hint).toMatch(/^Did you mean /)
  })

  test.each(names)('refuses a %s of a wrong type', async (name) => {
    // Valid nowhere.
    const { code, message, hint } = await refusal(of, { [name]: Symbol('wrong') })
    expect({ code, message }).toEqual({
      code: expect.stringMatching(/^[A-Z_]+$/),
      message: expect.any(String),
    })
    expect(hint).toEqual(expect.any(String))
  })
})
