import { writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { until } from '../until.ts'
import { pool, test } from './estate.ts'
import { broken, needy, quick } from './tasks.ts'

test('a worker process that lacks a resource is unhealthy until it is back; loading takes as long as it takes', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const gpu = estate.file('gpu')
  const handle = await gleaner.enqueue(needy)
  const supervisor = await estate.supervise({
    env: { GLEANER_GPU: gpu },
    pools: [pool(), pool({ name: 'other', queues: ['other'] })],
  })
  const reason = 'waits for gpu: no VRAM'
  const { pid } = await estate.worker(supervisor, { phase: 'backing_off', health: 'unhealthy', reason })
  // A pool whose queues have no task that needs it is none the worse.
  await estate.worker(supervisor, { phase: 'idle', health: 'healthy', reason: null }, 'worker:other:0')
  expect(await estate.logged('worker backs off')).toMatchObject({ worker: 'worker:main:0', reason })
  await until('everybody is told why', async () =>
    (await gleaner.workers.list()).some(
      (worker) => worker.id === 'worker:main:0' && worker.reason === reason,
    ),
  )
  // The rest of its work goes on.
  await (await gleaner.enqueue(quick, 1)).result()
  const { reasons } = await gleaner.tasks.explain(handle.id)
  expect(reasons.find(({ ok }) => !ok)?.detail).toContain('worker:main:0 waits for gpu (no VRAM)')
  writeFileSync(gpu, '')
  const loading = await estate.worker(supervisor, { phase: 'loading_models', health: 'pending' })
  expect(loading.current).toMatchObject([{ item: `needy/${handle.id}`, deadline: null }])
  // The same process: nobody took the time that loading takes for a handler that hangs.
  expect(await handle.result()).toBe(pid)
  await estate.worker(supervisor, { phase: 'idle', health: 'healthy', reason: null })
  expect(await gleaner.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1, outcome: 'completed' }])
})

test('a worker process that meets ten resource errors in a row ends with 13, and charges no item', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  await gleaner.enqueueMany(broken, Array(10).fill(undefined))
  const supervisor = await estate.supervise()
  const worker = await estate.worker(supervisor, ({ lastExit }) => lastExit !== null)
  expect(worker.lastExit).toMatchObject({ code: 13 })
  expect((await gleaner.tasks.list({ name: 'broken' })).items.map(({ attempts }) => attempts)).toEqual(
    Array(10).fill(0),
  )
})
