import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'vitest'
import { pool, TORTURE, test } from './estate.ts'
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

const FUZZED = TORTURE ? 1_000_000 : 50_000
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)

test('fuzzed frames, as fast as a process can write them, cost the supervisor neither memory nor its turn, and nobody is harmed', {
  timeout: 300_000,
}, async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const loop = monitorEventLoopDelay({ resolution: 10 })
  loop.enable()
  const before = process.memoryUsage().rss
  const supervisor = await estate.supervise({
    pools: [pool(), pool({ name: 'noisy', queues: ['noisy'] })],
    timings: { startup: '5m' },
    env: { GLEANER_FUZZ: String(FUZZED), GLEANER_SEED: String(seed) },
  })
  const healthy = await estate.worker(supervisor, { status: 'running', health: 'healthy' })
  const { frames, ms } = await estate.hears('fuzzed')
  const [grown, worstMs] = [process.memoryUsage().rss - before, Math.round(loop.max / 1e6)]
  loop.disable()
  await (await gleaner.enqueue(quick, 1, { queue: 'noisy' })).result()
  await (await gleaner.enqueue(quick, 2)).result()
  const all = supervisor.workers()
  expect(
    all.map(({ status, restarts }) => [status, restarts.total]),
    `GLEANER_SEED=${seed}`,
  ).toEqual([
    ['running', 0],
    ['running', 0],
  ])
  expect(all[0]!.pid).toBe(healthy.pid)
  expect(grown).toBeLessThan(200e6)
  await supervisor.stop()
  const ended = await estate.logged('worker ended', ({ worker }) => worker === 'worker:noisy:0')
  expect(ended.noise).toBeGreaterThan(frames / 3)
  console.log(
    `${frames} fuzzed frames in ${ms} ms: ${Math.round(grown / 1e6)} MB more, the loop late by ${worstMs} ms at most, ${ended.noise} lines of noise`,
  )
})
