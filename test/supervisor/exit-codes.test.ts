import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Gleaner } from '../../src/index.ts'
import type { WorkerRecord } from '../../src/model/worker.ts'
import type { Supervisor } from '../../src/supervisor/contract.ts'
import { type Estate, test } from './estate.ts'
import { broken, quitter, unloaded, untilThere } from './tasks.ts'

interface Scene {
  estate: Estate
  gleaner: Gleaner
}

/** What an exit led to, in the words of the guide. */
interface Seen {
  code: number | null
  worker: string
  item: string
}

const NOTHING = 'none'
const BACK = 'back. No attempt is charged'
const CHARGED = 'charged with a crash'
const COUNTS = 'starts again with a growing delay. This counts'
const LIMITS = { limits: { inWindow: 3 } }
const hasExited = ({ lastExit }: WorkerRecord) => lastExit !== null

/** Each row of the table in the guide, made to happen with real processes. */
const SCENES: Record<string, (scene: Scene) => Promise<Seen>> = {
  '0 after a stop': async ({ estate, gleaner }) => {
    const supervisor = await estate.supervise()
    const handle = await gleaner.enqueue(untilThere, { file: estate.file('never') })
    await estate.hears('running')
    await supervisor.stop({ drain: 0 })
    const [worker] = supervisor.workers()
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0, crashes: 0 })
    expect(worker).toMatchObject({ status: 'stopped', restarts: { total: 0 } })
    const successor = await estate.supervise()
    await estate.worker(successor, { status: 'running' })
    const { pid } = successor.workers()[0]!
    await successor.restart()
    expect(successor.workers()[0]).toMatchObject({ status: 'running', pid: expect.not.closeTo(pid!, 0.1) })
    return {
      code: worker!.lastExit!.code,
      worker: 'stays down, or its successor works',
      item: 'finished, or back in its queue. No attempt is charged',
    }
  },
  '0 with nothing running': async ({ estate }) => {
    const supervisor = await estate.supervise()
    const { pid } = await estate.worker(supervisor, { status: 'running' })
    process.kill(pid!, 'SIGTERM')
    await estate.worker(supervisor, (worker) => worker.status === 'running' && worker.pid !== pid)
    expect(supervisor.workers()[0]!.restarts.total).toBe(0)
    const { afterMs } = await estate.logged('worker will be restarted')
    expect(afterMs).toBe(20)
    return {
      code: supervisor.workers()[0]!.lastExit!.code,
      worker: 'starts again after a second. This does not count',
      item: NOTHING,
    }
  },
  '0 while an item runs': ({ estate, gleaner }) =>
    afterCrash(estate, gleaner, async () => (await gleaner.enqueue(quitter)).id),
  'another code, or a signal, while an item runs': ({ estate, gleaner }) =>
    afterCrash(estate, gleaner, async () => {
      const { id } = await gleaner.enqueue(untilThere, { file: estate.file('never') })
      const { pid } = await estate.hears('running')
      process.kill(pid, 'SIGKILL')
      return id
    }),
  'another code, or a signal, with nothing running': async ({ estate }) => {
    const supervisor = await estate.supervise({ ...LIMITS, env: { GLEANER_CRASH: 'ready main' } })
    const failed = await estate.worker(supervisor, { status: 'failed' })
    expect(failed.restarts.total).toBe(3)
    return { code: failed.lastExit!.code, worker: COUNTS, item: NOTHING }
  },
  '10': async ({ estate }) => {
    const supervisor = await estate.supervise({ config: '/no/such/config.ts' })
    const failed = await estate.worker(supervisor, { status: 'failed' })
    expect(failed.restarts.total).toBe(0)
    return { code: failed.lastExit!.code, worker: 'is given up at once', item: NOTHING }
  },
  '11': async ({ estate }) => {
    const supervisor = await estate.supervise({ env: { GLEANER_DATABASE: 'sqlite:/no/such/folder/app.db' } })
    const delays = () => estate.log.flatMap(({ afterMs }) => (typeof afterMs === 'number' ? [afterMs] : []))
    await estate.until('it has tried often', () => (delays().length >= 4 ? true : undefined))
    expect(delays().slice(0, 4)).toEqual([20, 40, 80, 100])
    expect(supervisor.workers()[0]!.restarts.total).toBe(0)
    const { code } = supervisor.workers()[0]!.lastExit!
    return { code, worker: 'starts again with a growing delay. This never counts', item: BACK }
  },
  '12': ({ estate, gleaner }) =>
    afterGivingUp(
      estate,
      gleaner,
      async () => void (await gleaner.enqueueMany(unloaded, Array(10).fill(undefined))),
    ),
  '13': ({ estate, gleaner }) =>
    afterGivingUp(
      estate,
      gleaner,
      async () => void (await gleaner.enqueueMany(broken, Array(10).fill(undefined))),
    ),
}

async function afterCrash(estate: Estate, gleaner: Gleaner, crash: () => Promise<string>): Promise<Seen> {
  const supervisor = await estate.supervise()
  await estate.worker(supervisor, { status: 'running' })
  const id = await crash()
  const { lastExit } = await estate.worker(supervisor, hasExited)
  const task = await settled(estate, supervisor, gleaner, id)
  expect(task.crashes).toBeGreaterThan(0)
  expect(supervisor.workers()[0]!.restarts.total).toBe(0)
  return { code: lastExit!.code, worker: 'starts again. This does not count', item: CHARGED }
}

async function afterGivingUp(estate: Estate, gleaner: Gleaner, enqueue: () => Promise<void>): Promise<Seen> {
  await enqueue()
  const supervisor = await estate.supervise()
  const { lastExit, restarts } = await estate.worker(
    supervisor,
    (worker) => hasExited(worker) && worker.restarts.total > 0,
  )
  expect(restarts.total).toBe(1)
  await supervisor.stop({ drain: 0 })
  for (const task of (await gleaner.tasks.list()).items)
    expect(task).toMatchObject({ attempts: 0, crashes: 0 })
  return { code: lastExit!.code, worker: COUNTS, item: BACK }
}

/** The next process has started: the items of the last one are settled by then. */
async function settled(estate: Estate, supervisor: Supervisor, gleaner: Gleaner, id: string) {
  await estate.worker(supervisor, { status: 'running' })
  return (await gleaner.tasks.get(id))!
}

/** The rows of the table, as the guide has them. */
const ROWS = readFileSync(join(import.meta.dirname, '../../docs/guide/processes.md'), 'utf8')
  .split('\n## Exit codes\n')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| exit') && !line.startsWith('| ---'))
  .map((line) => line.slice(2, -2).split(' | '))

test('the table of exit codes in the guide has a row for each end of a process', () => {
  expect(ROWS.map(([exit]) => exit).sort()).toEqual(Object.keys(SCENES).sort())
})

for (const [exit, , worker, item] of ROWS) {
  test(`exit ${exit}: the worker ${worker}; the item: ${item}`, async ({ estate }) => {
    const gleaner = await estate.gleaner()
    const seen = await SCENES[exit!]!({ estate, gleaner })
    expect(seen).toMatchObject({ worker, item })
    const code = /^\d+/.exec(exit!)?.[0]
    if (code === undefined) expect(seen.code).not.toBe(0)
    else expect(seen.code).toBe(Number(code))
  })
}
