import { existsSync, readdirSync } from 'node:fs'
import { describe, expect } from 'vitest'
import type { WorkerRecord } from '../../src/model/worker.ts'
import type { Supervisor } from '../../src/supervisor/contract.ts'
import { gone, TIMINGS, TORTURE } from '../supervisor/estate.ts'
import { blocking, quick, untilThere } from '../supervisor/tasks.ts'
import { until } from '../until.ts'
import { CONFIG, onDatabase } from './ground.ts'
import { embed, film } from './tasks.ts'

const BLOCKED_MS = TORTURE ? 60_000 : 4_000
const COLD_MS = TORTURE ? 120_000 : 3_000
const IDLE_MS = TORTURE ? 60_000 : 1_000
const FRAME_MS = 300
/** A busy machine writes some of them late. */
const FRAMES_SHARE = 0.5

/** Every test run takes one database, and the torture both. */
const names = TORTURE ? (['SQLite', 'PostgreSQL'] as const) : (['SQLite'] as const)

describe.each(names)('on %s', (name) => {
  const test = onDatabase(name)

  test('frames go on during a blocking job of 60 s, on the dedicated pipe and not on stdout', async ({
    ground,
  }) => {
    const gleaner = await ground.gleaner()
    const supervisor = await ground.supervise({ config: CONFIG })
    await ground.worker(supervisor, { status: 'running' })
    const handle = await gleaner.enqueue(blocking, { ms: BLOCKED_MS })
    await ground.hears('running')
    const frames = new Set<number>()
    const healths = new Set<string>()
    const beganAt = Date.now()
    await ground.worker(supervisor, ({ lastFrameAt, health, loopLagMs }) => {
      if (lastFrameAt !== null && lastFrameAt > beganAt) frames.add(lastFrameAt)
      healths.add(health)
      return (loopLagMs ?? 0) > BLOCKED_MS - 2_000
    })
    await handle.result()
    expect(frames.size).toBeGreaterThan(((BLOCKED_MS - 2_000) / FRAME_MS) * FRAMES_SHARE)
    expect([...healths]).toEqual(['healthy'])
    expect(ground.log.filter(({ message }) => message.includes('HEALTH|'))).toEqual([])
  })

  test('a worker killed in the middle of a job leaves no open pipe or thread', async ({ ground }) => {
    const gleaner = await ground.gleaner()
    const supervisor = await ground.supervise({ config: CONFIG })
    await ground.worker(supervisor, { status: 'running', phase: 'idle' })
    // The first one opens what stays open in this process.
    let before = Number.POSITIVE_INFINITY
    for (let kills = 1; kills <= 4; kills++) {
      const handle = await gleaner.enqueue(untilThere, { file: ground.file(`go-${kills}`) })
      const { pid } = await ground.hears('running', ({ id, attempt }) => id === handle.id && attempt === 1)
      process.kill(pid, 'SIGKILL')
      // Its threads and everything else in its group are gone with it.
      await gone(pid)
      await until('its threads are gone', () => !existsSync(`/proc/${pid}/task`))
      ground.touch(`go-${kills}`)
      await handle.result()
      await ground.worker(supervisor, ({ pid: now, phase }) => now !== pid && phase === 'idle')
      if (kills === 1) before = descriptors()
    }
    await until('nothing is left open', () => descriptors() <= before)
  })

  test('a resource that is unavailable releases the claim, shows `backing_off` and `unhealthy`, and `healthy` after it comes back', async ({
    ground,
  }) => {
    const camera = ground.touch('camera')
    const breaks = ground.touch('breaks')
    const gleaner = await ground.place.open({ database: ground.database, tasks: [film] })
    const supervisor = await ground.supervise({ config: CONFIG, env: { FOUNDING_CAMERA: camera } })
    const handle = await gleaner.enqueue(film, { breaks })
    const worker = await ground.worker(supervisor, { phase: 'backing_off', health: 'unhealthy' })
    expect(worker.reason).toContain('the camera is off')
    await until('the claim is released', async () => {
      const task = await gleaner.tasks.get(handle.id)
      return ['queued', 'scheduled'].includes(task!.status) && task!.attempts === 0
    })
    ground.touch('camera')
    expect(await handle.result()).toBe('filmed')
    await ground.worker(supervisor, { phase: 'idle', health: 'healthy', pid: worker.pid })
  })

  test('a cold start of 120 s is pending all the time and healthy after its first job', async ({
    ground,
  }) => {
    const gleaner = await ground.gleaner()
    const handle = await gleaner.enqueue(quick, 1)
    const startedAt = Date.now()
    const supervisor = await ground.supervise({
      config: CONFIG,
      env: { GLEANER_COLD_MS: String(COLD_MS) },
      timings: { startup: COLD_MS * 10 },
    })
    const healths = new Set<string>()
    const ready = await ground.worker(supervisor, ({ health }) => {
      if (health !== 'healthy') healths.add(health)
      return health === 'healthy'
    })
    expect(Date.now() - startedAt).toBeGreaterThan(COLD_MS)
    expect([...healths]).toEqual(['pending'])
    expect(await handle.result()).toBe(1)
    expect(await ground.worker(supervisor, { phase: 'idle' })).toMatchObject({
      health: 'healthy',
      pid: ready.pid,
      restarts: { total: 0 },
    })
  })

  test('a model idle for its time is evicted while frames go on and the worker stays healthy', async ({
    ground,
  }) => {
    const gleaner = await ground.place.open({ database: ground.database, tasks: [embed] })
    const env = { FOUNDING_IDLE_MS: String(IDLE_MS) }
    const supervisor = await ground.supervise({ config: CONFIG, env })
    await (await gleaner.enqueue(embed)).result()
    await ground.worker(supervisor, { phase: 'idle', health: 'healthy' })
    const seen = watch(supervisor)
    const { at } = await ground.hears('unloaded')
    await ground.worker(supervisor, (worker) => {
      seen.add(worker)
      return worker.lastFrameAt! > at + 2 * FRAME_MS
    })
    expect([...seen.healths]).toEqual(['healthy'])
    expect(supervisor.workers()[0]!.restarts.total).toBe(0)
  })
})

function watch(supervisor: Supervisor) {
  const healths = new Set<string>()
  const add = ({ health }: Pick<WorkerRecord, 'health'>) => void healths.add(health)
  for (const worker of supervisor.workers()) add(worker)
  return { healths, add }
}

function descriptors(): number {
  return readdirSync(process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd').length
}

expect(TIMINGS.frame).toBe(`${FRAME_MS}ms`)
