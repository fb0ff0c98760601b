import type { OnFailure } from '../../src/model/flow.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import type { NewChildren } from '../../src/store/ports/flows.ts'
import type { Claimant } from './claimant.ts'
import type { Theme } from './theme.ts'
import { idsOf, newTask, type World } from './world.ts'

const CHILD = { name: 'child', queue: 'children' }
const CHILDREN = { names: ['child'], queues: ['children'] }

function children({ id, fence }: Claim, count: number, some: Partial<NewChildren> = {}): NewChildren {
  const tasks = Array.from({ length: count }, () => newTask(CHILD))
  const step = { claim: { id, fence }, name: 'thumb', number: 1, attempt: 1, startedAt: 0 }
  return { ...step, tasks, concurrency: null, onFailure: 'fail', ...some }
}

/** Until nothing is left to hear of. */
async function settle({ store }: World): Promise<void> {
  while ((await store.flows.settle()).more);
}

async function spawn(world: World, worker: Claimant, given: NewChildren): Promise<string> {
  const answer = await world.store.flows.spawn(worker.session, given)
  if (answer.kind !== 'spawned') throw new Error(`it was not spawned: ${answer.kind}`)
  return answer.flow
}

/** The parent waits for this step. */
function suspend(worker: Claimant, claim: Claim, name = 'thumb') {
  const waits = [{ kind: 'children', name, number: 1, until: null } as const]
  return worker.settle(claim, { kind: 'waits', waits, afterMs: null })
}

interface Family {
  parent: Claim
  flow: string
  worker: Claimant
  kids: Claimant
}

/** A parent that waits for its children. */
async function family(world: World, count: number, some: Partial<NewChildren> = {}): Promise<Family> {
  await world.enqueue()
  const worker = await world.worker()
  const parent = await worker.claimOne()
  const flow = await spawn(world, worker, children(parent, count, some))
  await suspend(worker, parent)
  const kids = await world.worker({ ...CHILDREN, worker: 'worker:kids:0' })
  return { parent, flow, worker, kids }
}

async function statusOf(world: World, id: string): Promise<string> {
  return (await world.task(id)).status
}

async function after(world: World, tasks: readonly string[], onFailure: OnFailure = 'fail'): Promise<string> {
  return world.enqueue({ after: { tasks, onFailure } })
}

export const flows: Theme = (specify, expect) => {
  specify(
    'a parent waits without a worker, and is queued when its last child has completed',
    async (world) => {
      const { parent, flow, kids } = await family(world, 3)
      expect(await statusOf(world, parent.id)).toBe('suspended')
      const claims = await kids.claim(3)
      for (const claim of claims.slice(0, 2)) await kids.complete(claim, '"done"')
      await settle(world)
      expect(await statusOf(world, parent.id)).toBe('suspended')
      expect(await world.store.flows.flow(flow)).toMatchObject({ total: 3, completed: 2, waiter: parent.id })
      await kids.complete(claims[2]!, '"last"')
      await settle(world)
      expect(await world.task(parent.id)).toMatchObject({ status: 'queued', attempts: 0 })
      const { items } = await world.store.flows.outcomes(flow, { limit: 10, cursor: null })
      expect(items.map(({ position, status, result }) => [position, status, result])).toEqual([
        [0, 'completed', '"done"'],
        [1, 'completed', '"done"'],
        [2, 'completed', '"last"'],
      ])
    },
  )

  specify('children that a lost answer or a later attempt spawns again are enqueued once', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const parent = await worker.claimOne()
    const flow = await spawn(world, worker, children(parent, 2))
    expect(await world.store.flows.spawn(worker.session, children(parent, 2))).toEqual({ kind: 'kept', flow })
    await worker.fail(parent, 0)
    const again = await worker.claimOne()
    expect(await world.store.flows.spawn(worker.session, children(again, 2))).toEqual({ kind: 'kept', flow })
    expect((await world.counts({ name: 'child' })).queued).toBe(2)
  })

  specify('a worker that lost its claim enqueues no children', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const parent = await worker.claimOne()
    await worker.end('lease')
    expect(await world.store.flows.spawn(worker.session, children(parent, 2))).toEqual({ kind: 'lost' })
    expect((await world.list({ name: 'child' })).length).toBe(0)
  })

  specify('a parent whose children ended before it waits is queued at once', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const parent = await worker.claimOne()
    await spawn(world, worker, children(parent, 1))
    const kids = await world.worker({ ...CHILDREN, worker: 'worker:kids:0' })
    await kids.complete(await kids.claimOne())
    await settle(world)
    await suspend(worker, parent)
    expect(await statusOf(world, parent.id)).toBe('queued')
  })

  specify(
    "with 'fail' a parent goes on at the first failure, and with 'collect' after the last end",
    async (world) => {
      const strict = await family(world, 2)
      const claims = await strict.kids.claim(2)
      await strict.kids.fail(claims[0]!)
      await settle(world)
      expect(await statusOf(world, strict.parent.id)).toBe('queued')
      await strict.worker.claimOne()
      await strict.kids.complete(claims[1]!)
      const lenient = await family(world, 2, { onFailure: 'collect' })
      const others = await lenient.kids.claim(2)
      await lenient.kids.fail(others[0]!)
      await settle(world)
      expect(await statusOf(world, lenient.parent.id)).toBe('suspended')
      await lenient.kids.complete(others[1]!)
      await settle(world)
      expect(await statusOf(world, lenient.parent.id)).toBe('queued')
    },
  )

  const ends: Record<string, (world: World, { kids }: Family, id: string) => Promise<unknown>> = {
    cancelled: ({ store }, _, id) => store.tasks.cancelTask(id),
    removed: ({ store }, _, id) => store.tasks.removeTask(id),
    'cancelled while it runs': async (world, { kids }, id) => {
      const claim = await kids.claimOne()
      await world.store.tasks.cancelTask(id)
      await kids.settle(claim, { kind: 'cancelled' })
    },
    'cancelled with many': ({ store }) =>
      store.tasks.changeTasks({
        change: 'cancel',
        filter: { name: 'child', status: 'queued' },
        page: { limit: 100, cursor: null },
        upTo: null,
        dryRun: null,
      }),
    'removed with many': ({ store }) =>
      store.tasks.changeTasks({
        change: 'remove',
        filter: { name: 'child', status: 'queued' },
        page: { limit: 100, cursor: null },
        upTo: null,
        dryRun: null,
      }),
    quarantined: async (_, { kids }) => {
      for (let crashes = 0; crashes < 3; crashes++) {
        await kids.claimOne()
        await kids.end('crash')
        await kids.begin()
      }
    },
    'out of attempts after a lease': async (_, { kids }) => {
      for (let attempts = 0; attempts < 3; attempts++) {
        await kids.claimOne()
        await kids.end('lease')
        await kids.begin()
      }
    },
    'completed with effects': async (_, { kids }) => kids.completeWith(await kids.claimOne(), () => {}),
  }
  for (const [how, end] of Object.entries(ends))
    specify(`a parent hears of a child that is ${how}`, async (world) => {
      const relatives = await family(world, 1)
      const [child] = idsOf(await world.list({ name: 'child' }))
      await end(world, relatives, child!)
      await settle(world)
      expect(await statusOf(world, relatives.parent.id)).toBe('queued')
      expect(await world.store.maintenance.check()).toEqual([])
    })

  specify('the result of a child that is removed is kept while its parent needs it', async (world) => {
    const { flow, kids } = await family(world, 2)
    const claims = await kids.claim(2)
    await kids.complete(claims[0]!, '"kept"')
    await settle(world)
    await world.store.tasks.removeTask(claims[0]!.id)
    await settle(world)
    const { items } = await world.store.flows.outcomes(flow, { limit: 1, cursor: null })
    expect(items).toMatchObject([{ id: claims[0]!.id, status: 'completed', result: '"kept"' }])
  })

  specify(
    'no more children than the concurrency are queued, and others follow as these end',
    async (world) => {
      const { parent, kids } = await family(world, 5, { concurrency: 2, onFailure: 'collect' })
      const seen: number[] = []
      for (let round = 0; round < 5; round++) {
        const { queued, suspended } = await world.counts({ name: 'child' })
        seen.push(queued, suspended)
        await kids.complete(await kids.claimOne())
        await settle(world)
      }
      expect(seen).toEqual([2, 3, 2, 2, 2, 1, 2, 0, 1, 0])
      expect(await statusOf(world, parent.id)).toBe('queued')
    },
  )

  specify('a child that is cancelled while it is kept back makes no room for another', async (world) => {
    const { parent, kids } = await family(world, 3, { concurrency: 1, onFailure: 'collect' })
    const [last] = idsOf(await world.list({ name: 'child', status: 'suspended' }))
    await world.store.tasks.cancelTask(last!)
    await settle(world)
    expect(await world.counts({ name: 'child' })).toMatchObject({ queued: 1, suspended: 1, cancelled: 1 })
    for (let rest = 0; rest < 2; rest++) {
      await kids.complete(await kids.claimOne())
      await settle(world)
    }
    expect(await statusOf(world, parent.id)).toBe('queued')
  })

  specify(
    'a cancel goes down the tree, and the end of a failed parent leaves its children alone',
    async (world) => {
      const { parent, kids } = await family(world, 3)
      const running = await kids.claimOne()
      const grandchild = await spawn(world, kids, children(running, 2, { name: 'deep' }))
      await suspend(kids, running, 'deep')
      await world.store.tasks.cancelTask(parent.id)
      await settle(world)
      expect(await world.counts({ name: 'child' })).toMatchObject({ cancelled: 5, queued: 0, suspended: 0 })
      expect(await world.store.flows.flow(grandchild)).toMatchObject({ cancelled: 2 })

      await world.enqueue()
      const worker = await world.worker({ worker: 'worker:other:0' })
      const failing = await worker.claimOne()
      await spawn(world, worker, children(failing, 1))
      await worker.fail(failing)
      await settle(world)
      expect((await world.counts({ name: 'child' })).queued).toBe(1)
      await world.store.tasks.removeTask(failing.id)
      await settle(world)
      expect((await world.counts({ name: 'child' })).queued).toBe(0)
      expect(await world.store.flows.flowsOf(failing.id)).toEqual([])
    },
  )

  specify('a child that runs is asked to stop when its parent is cancelled', async (world) => {
    const { parent, kids } = await family(world, 1)
    const claim = await kids.claimOne()
    await world.store.tasks.cancelTask(parent.id)
    await settle(world)
    expect((await kids.exchange({})).cancels).toEqual([claim.id])
  })

  specify('a child that is retried by hand is waited for again', async (world) => {
    const { parent, flow, kids, worker } = await family(world, 2)
    const claims = await kids.claim(2)
    await kids.fail(claims[0]!)
    await settle(world)
    await world.store.tasks.retryTask(claims[0]!.id)
    await settle(world)
    expect(await world.store.flows.flow(flow)).toMatchObject({ total: 2, failed: 0 })
    await suspend(worker, await worker.claimOne())
    expect(await statusOf(world, parent.id)).toBe('suspended')
    await kids.complete(claims[1]!)
    await kids.complete(await kids.claimOne())
    await settle(world)
    expect(await statusOf(world, parent.id)).toBe('queued')
  })

  specify('a child whose key is held by its own ancestor is refused', async (world) => {
    const id = await world.enqueue({ key: 'mine' })
    const worker = await world.worker()
    const parent = await worker.claimOne()
    const own = { tasks: [newTask({ key: 'mine' })] }
    expect(await world.store.flows.spawn(worker.session, children(parent, 0, own))).toEqual({
      kind: 'cycle',
      task: id,
    })
    await spawn(world, worker, children(parent, 1, { tasks: [newTask({ ...CHILD, key: 'k' })] }))
    const kids = await world.worker({ ...CHILDREN, worker: 'worker:kids:0' })
    const child = await kids.claimOne()
    expect(await world.store.flows.spawn(kids.session, children(child, 0, { ...own, name: 'up' }))).toEqual({
      kind: 'cycle',
      task: id,
    })
    expect((await world.list()).length).toBe(2)
  })

  specify('a child with the order key of its own ancestor is refused', async (world) => {
    const id = await world.enqueue({ orderKey: 'acme' })
    const worker = await world.worker()
    const parent = await worker.claimOne()
    const own = { tasks: [newTask({ orderKey: 'acme' })] }
    const refused = { kind: 'cycle', task: id }
    expect(await world.store.flows.spawn(worker.session, children(parent, 0, own))).toEqual(refused)
    await spawn(world, worker, children(parent, 1, { tasks: [newTask({ ...CHILD, orderKey: 'acme' })] }))
    const kids = await world.worker({ ...CHILDREN, worker: 'worker:kids:0' })
    const child = await kids.claimOne()
    expect(await world.store.flows.spawn(kids.session, children(child, 0, { ...own, name: 'up' }))).toEqual(
      refused,
    )
    expect((await world.list()).length).toBe(2)
  })

  specify('a child with a key that is held is the task that holds it', async (world) => {
    const other = await world.enqueue({ ...CHILD, key: 'k' })
    const { parent, kids, flow } = await family(world, 0, { tasks: [newTask({ ...CHILD, key: 'k' })] })
    expect(await world.store.flows.flow(flow)).toMatchObject({ total: 1 })
    await kids.complete(await kids.claimOne(), '"shared"')
    await settle(world)
    expect(await statusOf(world, parent.id)).toBe('queued')
    const { items } = await world.store.flows.outcomes(flow, { limit: 5, cursor: null })
    expect(items).toMatchObject([{ id: other, result: '"shared"' }])
  })

  specify('a task runs after others, also if they ended before it was enqueued', async (world) => {
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    await worker.complete(await worker.claimOne())
    const last = await after(world, [first!, second!])
    await settle(world)
    expect(await statusOf(world, last)).toBe('suspended')
    await worker.complete(await worker.claimOne())
    await settle(world)
    expect((await worker.claimOne()).id).toBe(last)
    expect(await world.store.maintenance.check()).toEqual([])
  })

  const policies = { fail: 'failed', cancel: 'cancelled', run: 'queued' } as const
  for (const [onFailure, status] of Object.entries(policies))
    specify(
      `a task after one that fails is ${status} with ${onFailure}, and so are those after it`,
      async (world) => {
        const first = await world.enqueue()
        const second = await after(world, [first], onFailure as OnFailure)
        const third = await after(world, [second])
        const worker = await world.worker()
        await worker.fail(await worker.claimOne())
        await settle(world)
        expect(await statusOf(world, second)).toBe(status)
        expect(await statusOf(world, third)).toBe(status === 'queued' ? 'suspended' : 'failed')
        if (status === 'failed')
          expect((await world.task(second)).error).toMatchObject({
            kind: 'permanent',
            message: `task ${first}, after which it was to run, failed`,
          })
      },
    )

  specify('a task cannot wait for one that does not exist, and nothing is written', async (world) => {
    const first = await world.enqueue()
    await expect(after(world, [first, '4711'])).rejects.toMatchObject({ code: 'TASK_GONE' })
    expect((await world.list()).length).toBe(1)
  })

  specify('a batch counts its tasks, and each of its followers is enqueued once', async (world) => {
    const batch = {
      name: 'thumbs',
      tasks: [newTask(CHILD), newTask(CHILD)],
      concurrency: null,
      onCompleted: newTask({ name: 'summary' }),
      onFailed: newTask({ name: 'alarm' }),
    }
    const flow = await world.store.flows.startBatch(batch)
    const kids = await world.worker({ ...CHILDREN, worker: 'worker:kids:0' })
    const [one, two] = await kids.claim(2)
    await kids.fail(one!)
    await settle(world)
    expect(await world.counts({ name: 'alarm' })).toMatchObject({ queued: 1 })
    await kids.complete(two!)
    await world.store.tasks.retryTask(one!.id)
    await settle(world)
    expect(await world.counts({ name: 'summary' })).toMatchObject({ queued: 0 })
    await kids.complete(await kids.claimOne())
    await settle(world)
    await settle(world)
    expect(await world.counts({ name: 'summary' })).toMatchObject({ queued: 1 })
    expect(await world.counts({ name: 'alarm' })).toMatchObject({ queued: 1 })
    const record = await world.store.flows.flow(flow)
    expect(record).toMatchObject({ total: 2, completed: 2, failed: 0 })
    expect((await world.task(record!.thenTask!)).input).toMatchObject({ batch: flow, completed: 2 })
    expect(await world.store.flows.listBatches({ limit: 5, cursor: null })).toMatchObject({
      items: [{ id: flow, name: 'thumbs' }],
    })
  })

  specify('cancelling a batch cancels its unfinished tasks', async (world) => {
    const tasks = [newTask(CHILD), newTask(CHILD), newTask(CHILD)]
    const batch = { name: 'thumbs', tasks, concurrency: 2, onCompleted: null, onFailed: null }
    const flow = await world.store.flows.startBatch(batch)
    expect(await world.store.flows.cancelFlow(flow)).toBe(true)
    await settle(world)
    expect(await world.store.flows.flow(flow)).toMatchObject({ cancelled: 3 })
    for (const id of idsOf(await world.list())) await world.store.tasks.removeTask(id)
    await settle(world)
    expect(await world.store.flows.flow(flow)).toBe(null)
  })

  specify('a tree shows a task with all that it waits for', async (world) => {
    const { parent, kids } = await family(world, 2)
    const child = await kids.claimOne()
    await spawn(world, kids, children(child, 1, { name: 'deep' }))
    const tree = await world.store.flows.tree(parent.id, 100)
    expect(tree).toMatchObject({
      task: { id: parent.id, status: 'suspended' },
      parent: null,
      flows: [
        {
          flow: { name: 'thumb', total: 2 },
          tasks: [{ task: { id: child.id }, flows: [{ tasks: [{ parent: child.id }] }] }, { flows: [] }],
          more: 0,
        },
      ],
    })
    expect(await world.store.flows.tree('4711', 100)).toBe(null)
  })

  specify('the children of a task are listed by their parent, and say what it waits for', async (world) => {
    const { parent, kids } = await family(world, 3, { concurrency: 2 })
    await world.enqueue()
    await kids.complete(await kids.claimOne())
    const children = await world.list({ parent: parent.id })
    expect(children.map(({ name }) => name)).toEqual(['child', 'child', 'child'])
    expect(idsOf(await world.list({ parent: parent.id, status: 'completed' }))).toEqual([children[2]!.id])
    await settle(world)
    const waits = await world.store.tasks.circumstancesOf(parent.id)
    expect(waits?.waitsFor).toEqual([
      { kind: 'children', name: 'thumb', total: 3, unfinished: 2, tasks: [children[1]!.id, children[0]!.id] },
    ])
  })

  specify('a child that is kept back says so, and so does a task that runs after another', async (world) => {
    await family(world, 2, { concurrency: 1 })
    const [held] = await world.list({ name: 'child', status: 'suspended' })
    expect((await world.store.tasks.circumstancesOf(held!.id))?.waitsFor).toMatchObject([
      { kind: 'turn', unfinished: 2 },
    ])
    const first = await world.enqueue()
    const last = await after(world, [first])
    expect((await world.store.tasks.circumstancesOf(last))?.waitsFor).toEqual([
      { kind: 'tasks', name: 'after', total: 1, unfinished: 1, tasks: [first] },
    ])
  })
}
