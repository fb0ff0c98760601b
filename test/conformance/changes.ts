import type { Change } from '../../src/store/ports/change.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Theme } from './theme.ts'
import { newTask } from './world.ts'

export const changes: Theme = (specify, expect) => {
  specify('work that arrives is told, after its commit', async (world) => {
    const told = nextChange(world.store, 'work')
    const id = await world.enqueue()
    await told
    expect(await (await world.database.open()).tasks.getTask(id)).toMatchObject({ id })
  })

  specify('nothing is told before it can be seen by others', async (world) => {
    const other = await world.database.open()
    const sights: Promise<number>[] = []
    world.store.onChange(({ kind }) => {
      if (kind === 'work') sights.push(other.tasks.countTasks({}).then(({ queued }) => queued))
    })
    for (let i = 1; i <= 5; i++) {
      await world.enqueue()
      expect(await sights.at(-1)).toBeGreaterThanOrEqual(i)
    }
  })

  const bringing = {
    'a task retried by hand': async (store: Store, id: string) => {
      await store.tasks.cancelTask(id)
      return () => store.tasks.retryTask(id)
    },
    'a queue that is resumed': async (store: Store) => {
      await store.admin.setPaused('default', true)
      return () => store.admin.setPaused('default', false)
    },
    'everything being resumed': async (store: Store) => {
      await store.admin.setPaused(null, true)
      return () => store.admin.setPaused(null, false)
    },
  }
  for (const [what, prepare] of Object.entries(bringing)) {
    specify(`${what} is told as work`, async (world) => {
      const act = await prepare(world.store, await world.enqueue())
      const told = nextChange(world.store, 'work')
      await act()
      await told
    })
  }

  specify('what goes back to waiting is told as work: handed back, failed, or given back', async (world) => {
    await world.enqueue({ maxAttempts: 9 })
    const worker = await world.worker()
    const ways = [
      async () => worker.giveBack(await worker.claimOne()),
      async () => worker.fail(await worker.claimOne(), 0),
      async () => {
        await worker.claimOne()
        await worker.end('crash')
      },
    ]
    for (const way of ways) {
      const told = nextChange(world.store, 'work')
      await way()
      await told
    }
  })

  specify('every end of a task is told with its id', async (world) => {
    const { store } = world
    const worker = await world.worker()
    const ends: ((id: string) => Promise<unknown>)[] = [
      async () => worker.complete(await worker.claimOne()),
      async () => worker.fail(await worker.claimOne()),
      async () => worker.settle(await worker.claimOne(), { kind: 'cancelled' }),
      async () => {
        const run = { ...(await worker.claimOne()), startedAt: 1 }
        await store.tasks.completeWith(worker.session, run, null, () => undefined)
      },
      (id) => store.tasks.cancelTask(id),
      (id) => store.tasks.removeTask(id),
    ]
    for (const end of ends) {
      const id = await world.enqueue()
      const told = nextChange(store, 'ended')
      await end(id)
      expect(await told).toEqual({ kind: 'ended', ids: [id] })
    }
  })

  specify('a task that ends with its session is told as ended', async (world) => {
    const id = await world.enqueue({ maxAttempts: 1 })
    const worker = await world.worker()
    await worker.claimOne()
    const told = nextChange(world.store, 'ended')
    await worker.end('lease')
    expect(await told).toEqual({ kind: 'ended', ids: [id] })
  })

  specify('a request to cancel what runs is told', async (world) => {
    const id = await world.enqueue()
    await (await world.worker()).claimOne()
    const told = nextChange(world.store, 'cancel')
    await world.store.tasks.cancelTask(id)
    await told
  })

  specify('what is refused is told to nobody', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await worker.complete(claim)
    const told: Change[] = []
    world.store.onChange((change) => told.push(change))
    await worker.complete(claim)
    await world.store.tasks.completeWith(worker.session, { ...claim, startedAt: 1 }, null, () => undefined)
    await world.store.tasks.cancelTask(id)
    await world.store.tasks.removeTask('nonsense')
    expect(told.filter(({ kind }) => kind !== 'elsewhere')).toEqual([])
  })

  specify('who has stopped listening is told nothing', async (world) => {
    const told: Change[] = []
    const stop = world.store.onChange((change) => told.push(change))
    stop()
    await world.enqueue()
    expect(told).toEqual([])
  })

  specify('work that another store brings is heard of', async (world) => {
    const other = await world.database.open()
    const told = nextChange(world.store)
    await other.tasks.enqueue([newTask()])
    await told
  })
}

/** The next change, or the next one of a kind. Losing one costs latency only, so the runner's time-out is the limit. */
function nextChange(store: Store, kind?: Change['kind']): Promise<Change> {
  return new Promise((resolve) => {
    const stop = store.onChange((change) => {
      if (kind !== undefined && change.kind !== kind) return
      stop()
      resolve(change)
    })
  })
}
