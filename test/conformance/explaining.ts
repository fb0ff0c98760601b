import { type Explanation, explain } from '../../src/model/explanation.ts'
import type { Check } from '../../src/model/reasons.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const explaining: Theme = (specify, expect) => {
  const explained = async (world: World, id: string): Promise<Explanation> =>
    explain({
      ...(await world.store.tasks.circumstancesOf(id))!,
      limits: await world.store.tasks.limitsOn(id),
    })
  const failing = async (world: World, id: string): Promise<Check[]> =>
    (await explained(world, id)).reasons.filter(({ ok }) => !ok).map(({ check }) => check)
  const detailOf = async (world: World, id: string, wanted: Check): Promise<string> =>
    (await explained(world, id)).reasons.find(({ check }) => check === wanted)?.detail ?? ''

  specify(
    'a task that nothing stands in the way of is runnable, and every condition passes',
    async (world) => {
      await world.worker()
      const id = await world.enqueue()
      const { runnable, reasons } = await explained(world, id)
      expect(runnable).toBe(true)
      expect(reasons.map(({ check }) => check)).toEqual([
        'unfinished',
        'not-held',
        'due',
        'not-backing-off',
        'not-paused',
        'queue-not-paused',
        'worker-serves-queue',
        'worker-knows-task',
        'worker-has-capabilities',
      ])
      expect((await (await world.worker()).claimOne()).id).toBe(id)
    },
  )

  specify('a task that is not due says when it will be', async (world) => {
    await world.worker()
    const id = await world.enqueue({ runAfter: { ms: 5_000 } })
    expect(await failing(world, id)).toEqual(['due'])
    expect(await detailOf(world, id, 'due')).toContain(new Date(world.clock.now() + 5_000).toISOString())
    world.clock.advance(5_000)
    expect(await failing(world, id)).toEqual([])
  })

  specify('a task that backs off says why, and until when', async (world) => {
    const worker = await world.worker()
    const id = await world.enqueue()
    await worker.fail(await worker.claimOne(), 30_000)
    expect(await failing(world, id)).toEqual(['not-backing-off'])
    expect(await detailOf(world, id, 'not-backing-off')).toContain('attempt 1 of 3 failed (no)')
    world.clock.advance(30_000)
    expect(await failing(world, id)).toEqual([])
  })

  specify('a pause is told, of everything and of the queue', async (world) => {
    await world.worker()
    const id = await world.enqueue()
    await world.store.admin.setPaused('default', true)
    expect(await failing(world, id)).toEqual(['queue-not-paused'])
    await world.store.admin.setPaused(null, true)
    expect(await failing(world, id)).toEqual(['not-paused', 'queue-not-paused'])
    await world.store.admin.setPaused('default', false)
    expect(await failing(world, id)).toEqual(['not-paused'])
  })

  specify('a missing worker is told: for the queue, the task, or its requirements', async (world) => {
    const id = await world.enqueue({ requires: { gpu: true } })
    expect(await failing(world, id)).toEqual(['worker-serves-queue'])
    const elsewhere = await world.worker({ queues: ['other'], worker: 'worker:other:0' })
    expect(await failing(world, id)).toEqual(['worker-serves-queue'])
    expect(await detailOf(world, id, 'worker-serves-queue')).toContain('worker:other:0')
    await world.worker({ names: ['other'] })
    expect(await failing(world, id)).toEqual(['worker-knows-task'])
    await world.worker({ capabilities: { gpu: false } })
    expect(await failing(world, id)).toEqual(['worker-has-capabilities'])
    const able = await world.worker({ capabilities: { gpu: [true, false] } })
    expect(await failing(world, id)).toEqual([])
    // Whoever has ended serves nobody.
    await able.end('stop')
    await elsewhere.end('stop')
    expect(await failing(world, id)).toEqual(['worker-has-capabilities'])
  })

  specify('a limit that is reached says so, and by whom it is held', async (world) => {
    const limit = { concurrency: 1, rate: null }
    await world.store.admin.planLimits([{ queue: 'default', limit }])
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    expect(await failing(world, second!)).toEqual([])
    const claim = await worker.claimOne()
    expect(claim.id).toBe(first)
    expect(await failing(world, second!)).toEqual(['within-limits'])
    expect(await detailOf(world, second!, 'within-limits')).toBe(
      `the limit of queue default is reached: 1 of 1 running, held by task ${first}`,
    )
    await worker.complete(claim)
    expect(await failing(world, second!)).toEqual([])
  })

  specify('a rate that is used up says when the next may start', async (world) => {
    const limit = { concurrency: null, rate: { count: 1, perMs: 60_000 } }
    await world.store.admin.planLimits([{ queue: 'default', limit }])
    const [, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    expect(await failing(world, second!)).toEqual(['within-limits'])
    expect(await detailOf(world, second!, 'within-limits')).toContain('may start in 60 s')
    world.clock.advance(60_000)
    expect(await failing(world, second!)).toEqual([])
  })

  specify('a held task says by whom, since when, and whether it was asked to stop', async (world) => {
    const worker = await world.worker({ worker: 'worker:busy:7' })
    const [running, ahead] = await world.enqueueMany(2)
    const since = world.clock.now()
    await worker.claim(1, 1)
    expect(await failing(world, running!)).toEqual(['not-held'])
    expect(await detailOf(world, running!, 'not-held')).toBe(
      `worker:busy:7 holds it and has run it since ${new Date(since).toISOString()}`,
    )
    expect(await detailOf(world, ahead!, 'not-held')).toContain('about to start')
    await world.store.tasks.cancelTask(running!)
    const { reasons } = await explained(world, running!)
    expect(reasons.find(({ ok }) => !ok)?.fix).toContain('is being cancelled')
  })

  specify('a finished task says how it ended, and who holds its key now', async (world) => {
    const worker = await world.worker()
    const id = await world.enqueue({ key: 'k' })
    await worker.fail(await worker.claimOne())
    expect(await failing(world, id)).toEqual(['unfinished'])
    expect(await detailOf(world, id, 'unfinished')).toContain('failed')
    const holder = await world.enqueue({ key: 'k' })
    expect(await failing(world, id)).toEqual(['unfinished', 'key-free'])
    expect(await detailOf(world, id, 'key-free')).toContain(`task ${holder}`)
  })

  specify('a task that was put aside for killing its workers says so', async (world) => {
    const id = await world.enqueue()
    for (let life = 0; life < 3; life++) {
      const worker = await world.worker({ worker: `worker:${life}` })
      await worker.claimOne()
      await worker.end('crash')
      if (life === 0) expect((await explained(world, id)).reasons.at(-1)?.check).not.toBe('not-quarantined')
    }
    expect(await failing(world, id)).toEqual(['unfinished', 'not-quarantined'])
    expect(await detailOf(world, id, 'not-quarantined')).toContain('died 3 times')
  })

  specify('a suspect says that it is run alone', async (world) => {
    const worker = await world.worker()
    const [one] = await world.enqueueMany(2)
    await worker.claim(2)
    await worker.end('crash')
    await world.worker()
    const { runnable, reasons } = await explained(world, one!)
    expect(runnable).toBe(true)
    expect(reasons.at(-1)).toMatchObject({ check: 'runs-alone', ok: true })
  })

  specify('of a task that is not there, there is nothing to explain', async ({ store }) => {
    for (const id of ['4711', 'nonsense']) expect(await store.tasks.circumstancesOf(id)).toBe(null)
  })
}
