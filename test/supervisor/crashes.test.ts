import { expect } from 'vitest'
import { insideOf } from '../../src/engine/inside.ts'
import { until } from '../until.ts'
import { gone, pool, test } from './estate.ts'
import { parent, untilThere } from './tasks.ts'

test('a task whose worker is killed runs again in another one in the blink of an eye', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
  await estate.worker(supervisor, { status: 'running' }, 'worker:main:0')
  await estate.worker(supervisor, { status: 'running' }, 'worker:main:1')
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const first = await estate.hears('running')
  const killedAt = Date.now()
  process.kill(first.pid, 'SIGKILL')
  const again = await estate.hears('running', ({ attempt }) => attempt === 2)
  // Only bounds it, on a machine that may be busy: rerun.test.ts measures. A lease that ran out would charge no crash.
  expect(again.at - killedAt).toBeLessThan(10_000)
  expect(again.pid).not.toBe(first.pid)
  estate.touch('go')
  expect(await handle.result()).toBe(again.pid)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 2, crashes: 1 })
  const [crash] = await gleaner.tasks.attempts(handle.id)
  expect(crash?.error?.message).toContain(`: SIGKILL, pid ${first.pid}, `)
  const { store } = insideOf(gleaner)
  const rescued = async () => (await store.admin.readTotals()).find(({ name }) => name === 'crash')?.incidents
  await until('the rescue is counted', async () => (await rescued()) !== undefined)
  expect(await rescued()).toEqual(new Map(Object.entries({ lost: 1, rescued: 1 })))
})

test('what a worker has started itself dies with it, also if it has an empty environment', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  await estate.supervise()
  await gleaner.enqueue(parent)
  const { child, pid } = await estate.hears('parent')
  process.kill(pid, 'SIGKILL')
  await gone(child)
})
