import type { Capabilities } from '../../src/model/capabilities.ts'
import type { Requires } from '../../src/model/task.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask } from './world.ts'

export const capabilities: Theme = (specify, expect) => {
  specify('a task whose name a worker has no code for is left alone and costs nothing', async (world) => {
    const foreign = await world.enqueue({ name: 'foreign', priority: 1 })
    const own = await world.enqueue()
    const worker = await world.worker({ names: ['job'] })
    expect(idsOf(await worker.claim(10))).toEqual([own])
    expect(await world.task(foreign)).toMatchObject({ status: 'queued', attempts: 0, worker: null })
    const expert = await world.worker({ names: ['foreign'] })
    expect(idsOf(await expert.claim(10))).toEqual([foreign])
  })

  specify('a queue a worker does not serve is left alone', async (world) => {
    const foreign = await world.enqueue({ queue: 'ml', priority: 1 })
    expect(await (await world.worker({ queues: ['default'] })).claim(10)).toEqual([])
    const worker = await world.worker({ queues: ['ml'] })
    expect(idsOf(await worker.claim(10))).toEqual([foreign])
  })

  specify('a worker with nothing to serve gets nothing', async (world) => {
    await world.enqueue()
    expect(await (await world.worker({ queues: [] })).claim(10)).toEqual([])
    expect(await (await world.worker({ names: [] })).claim(10)).toEqual([])
  })

  const matches: [requires: Requires, offers: Capabilities, fits: boolean][] = [
    [{ gpu: true }, {}, false],
    [{ gpu: true }, { gpu: false }, false],
    [{ gpu: true }, { gpu: true }, true],
    [{ gpu: true }, { gpu: 'true' }, false],
    [{ cores: 4 }, { cores: 4 }, true],
    [{ cores: 4 }, { cores: 8 }, false],
    [{ region: 'eu' }, { region: ['us', 'eu'] }, true],
    [{ region: 'eu' }, { region: ['us'] }, false],
    [{ region: 'eu' }, { region: [] }, false],
    [{ region: 'eu', gpu: true }, { region: 'eu' }, false],
    [{ region: 'eu', gpu: true }, { region: 'eu', gpu: true, more: 1 }, true],
    [{}, {}, true],
  ]
  for (const [requires, offers, fits] of matches) {
    const may = fits ? 'runs on' : 'waits beside'
    specify(`what requires ${JSON.stringify(requires)} ${may} ${JSON.stringify(offers)}`, async (world) => {
      const id = await world.enqueue({ requires })
      const claims = await (await world.worker({ capabilities: offers })).claim(5)
      expect(idsOf(claims)).toEqual(fits ? [id] : [])
      if (!fits) expect(await world.task(id)).toMatchObject({ status: 'queued', attempts: 0, requires })
    })
  }

  specify('requirements are the same in whatever order they are written', async (world) => {
    const first = await world.enqueue({ requires: { a: 1, b: 2 } })
    const second = await world.enqueue({ requires: { b: 2, a: 1 } })
    const worker = await world.worker({ capabilities: { b: 2, a: 1 } })
    expect(idsOf(await worker.claim(2))).toEqual([first, second])
  })

  specify('what nobody may run does not hold up what stands behind it', async (world) => {
    for (let i = 0; i < 30; i++) await world.enqueue({ priority: 1, requires: { rare: i } })
    await world.enqueueMany(100, { priority: 1, name: 'foreign' })
    const id = await world.enqueue({ priority: 1000 })
    expect(idsOf(await (await world.worker()).claim(5))).toEqual([id])
    expect(await world.counts()).toEqual(counts({ queued: 130, running: 1 }))
  })

  specify(
    'a task of a kind that was never seen before is found by a worker that already asked',
    async (world) => {
      const worker = await world.worker({ names: ['job', 'new'], queues: ['default', 'new'] })
      expect(await worker.claim(5)).toEqual([])
      const other = await world.database.open()
      const [answer] = await other.tasks.enqueue([newTask({ name: 'new', queue: 'new' })])
      expect(idsOf(await worker.claim(5))).toEqual([answer?.id])
    },
  )
}
