import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineDiscovery,
  defineTask,
  type Gleaner,
  type GleanerOptions,
  openGleaner,
} from '../../../src/index.ts'
import { until } from '../../until.ts'
import { ForgetfulServer } from './forgetful-server.ts'

let server: ForgetfulServer
const open: Gleaner[] = []

beforeAll(async () => {
  server = await ForgetfulServer.start()
})
afterEach(async () => {
  for (const gleaner of open.splice(0)) await gleaner.close()
})
afterAll(() => server.stop())

/** Runs end when the test says so. */
class Stage {
  readonly runs: { name: string; fence: number; end: () => void }[] = []

  task(name: string, queue = 'default') {
    return defineTask({
      name,
      queue,
      input: z.string(),
      run: async (word, { fence }) => {
        await new Promise<void>((end) => this.runs.push({ name: word, fence, end }))
        return word
      },
    })
  }

  async begun(name: string): Promise<{ fence: number; end: () => void }> {
    await until(`${name} runs`, () => this.runs.some((run) => run.name === name))
    return this.runs.find((run) => run.name === name)!
  }

  fencesOf(name: string): number[] {
    return this.runs.filter((run) => run.name === name).map(({ fence }) => fence)
  }
}

async function opened(options: Omit<GleanerOptions, 'database'>): Promise<Gleaner> {
  const schema = `crash_${randomUUID().slice(0, 8)}`
  // No sweep or renewal is to sync the server's log behind what it shall forget.
  const timings = { sweep: '1h', lease: '1h' } as const
  const gleaner = await openGleaner({ database: server.url, postgres: { schema }, timings, ...options })
  gleaner.on('problem', () => {})
  open.push(gleaner)
  return gleaner
}

/** The first run ends, is told to the database and then forgotten by it, while its worker goes on. */
async function forgetting(gleaner: Gleaner, run: { end: () => void }): Promise<void> {
  await server.sync()
  const completed = new Promise((resolve) => gleaner.on('completed', resolve))
  run.end()
  await completed
  await server.crash()
}

test.for(['while the server is away', 'when it is back'])(
  'a completion that a crash of the server forgot is done again, also if the rest of its batch ends %s',
  async (when) => {
    const stage = new Stage()
    const task = stage.task('job')
    const gleaner = await opened({ tasks: [task] })
    const handles = await gleaner.enqueueMany(task, ['zeroth', 'first', 'second'])
    const worker = gleaner.work({ concurrency: 3 })
    // It has finished something before: its exchanges go the usual way.
    const zeroth = new Promise((resolve) => gleaner.on('completed', resolve))
    ;(await stage.begun('zeroth')).end()
    await zeroth
    const [first, second] = [await stage.begun('first'), await stage.begun('second')]
    await server.sync()
    const completed = new Promise((resolve) => gleaner.on('completed', resolve))
    first.end()
    await completed
    const crashed = server.crash()
    if (when === 'while the server is away') second.end()
    await crashed
    second.end()

    await until('the first one runs again', () => stage.fencesOf('first').length === 2)
    for (const { end } of stage.runs) end()
    await worker.drained()
    for (const { id } of handles) expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed' })
    expect(await gleaner.maintenance.check()).toEqual([])
  },
)

test('an idle worker finds out that the server forgot what it had handed in', async () => {
  const stage = new Stage()
  const task = stage.task('job')
  const gleaner = await opened({ tasks: [task] })
  const handle = await gleaner.enqueue(task, 'only')
  gleaner.work({ concurrency: 1 })
  await forgetting(gleaner, await stage.begun('only'))
  await until('it runs again', () => stage.fencesOf('only').length === 2)
  stage.runs.at(-1)!.end()
  expect(await handle.result()).toBe('only')
})

test('a queue with concurrency 1 goes on after a crash of the server that forgot a completion', async () => {
  const stage = new Stage()
  const task = stage.task('job', 'narrow')
  const gleaner = await opened({ tasks: [task], queues: { narrow: { concurrency: 1 } } })
  await gleaner.enqueueMany(task, ['first', 'second'])
  const worker = gleaner.work({ concurrency: 2 })
  await forgetting(gleaner, await stage.begun('first'))
  await until('both have run', () => {
    for (const { end } of stage.runs) end()
    return stage.fencesOf('second').length > 0
  })
  await until('all has ended', async () => {
    for (const { end } of stage.runs) end()
    return (await gleaner.tasks.counts()).completed === 2
  })
  await worker.drained()
  expect(await gleaner.maintenance.check()).toEqual([])
})

test('a row whose completion a crash of the server forgot is done again', async () => {
  const table = `files_${randomUUID().slice(0, 8)}`
  await server.rows(
    `CREATE TABLE ${table} (id int PRIMARY KEY, todo int); INSERT INTO ${table} VALUES (1, 1)`,
  )
  let runs = 0
  const files = defineDiscovery({
    name: 'files',
    table,
    key: 'id',
    where: 'todo = 1',
    run: async () => {
      runs += 1
      if (runs === 1) await server.sync()
    },
    done: () => ({ todo: 0 }),
  })
  const gleaner = await opened({ discoveries: [files] })
  const done = new Promise((resolve) => gleaner.on('completed', resolve))
  gleaner.work({ discoveries: ['files'] })
  await done
  await server.crash()
  await until('it is done again', () => runs === 2)
  await until(
    'the table says so',
    async () => (await server.rows(`SELECT todo FROM ${table}`))[0]!.todo === 0,
  )
})

/** Claims at most until the server forgets one: a stall gives it the time to write a claim down. */
const CLAIMS_MAX = 5

test('no fence is given out twice, although the server forgot that it gave it out', async () => {
  const stage = new Stage()
  const task = stage.task('job')
  const schema = 'crash_fences'
  const gleaner = await opened({ tasks: [task], postgres: { schema } })
  gleaner.work({ concurrency: 2 })
  const first = await gleaner.enqueue(task, 'first')
  const { end } = await stage.begun('first')
  end()
  await first.result()
  let forgotten = ''
  for (let n = 0; forgotten === '' && n < CLAIMS_MAX; n++) {
    const word = `claim ${n}`
    const { id } = await gleaner.enqueue(task, word)
    const { fence, end } = await stage.begun(word)
    await server.crash()
    const [row] = await server.rows(`SELECT fence::int FROM ${schema}.tasks WHERE id = ${id}`)
    if (row!.fence === fence) end()
    else forgotten = word
  }
  await until('it runs again', () => stage.fencesOf(forgotten).length === 2)
  const [before, after] = stage.fencesOf(forgotten)
  expect(after).toBeGreaterThan(before!)
  for (const { end } of stage.runs) end()
})
