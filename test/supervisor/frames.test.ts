import { expect } from 'vitest'
import { pool, test } from './estate.ts'
import { quick } from './tasks.ts'

test('a worker that floods its pipe with anything harms nobody, and is heard', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({
    pools: [pool(), pool({ name: 'noisy', queues: ['noisy'] })],
    env: { GLEANER_NOISE: 'noisy' },
  })
  await estate.hears('flooded')
  const before = process.memoryUsage().rss
  await (await gleaner.enqueue(quick, 1, { queue: 'noisy' })).result()
  await (await gleaner.enqueue(quick, 2)).result()
  await estate.worker(supervisor, { status: 'running', health: 'healthy' })
  await estate.worker(supervisor, { status: 'running', health: 'healthy' }, 'worker:noisy:0')
  expect(process.memoryUsage().rss - before).toBeLessThan(200e6)
  await supervisor.stop()
  const ended = await estate.logged('worker ended', ({ worker }) => worker === 'worker:noisy:0')
  expect(ended.noise).toBeGreaterThan(10_000)
})
