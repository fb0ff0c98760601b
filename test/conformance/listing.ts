import { type Page, TASK_STATUSES, type TaskRecord, type TaskStatus } from '../../src/model/task.ts'
import type { TaskFilter } from '../../src/store/ports/tasks.ts'
import type { Theme } from './theme.ts'
import { idsOf, newTask, type World } from './world.ts'

const EACH = 11

export const listing: Theme = (specify, expect) => {
  for (const status of TASK_STATUSES) {
    for (const limit of [1, 4, EACH, 100]) {
      specify(`all ${status} tasks are listed, each once, in pages of ${limit}`, async (world) => {
        const ids = await populate(world)
        const listed = await world.list({ status }, limit)
        expect(idsOf(listed).sort()).toEqual([...ids[status]].sort())
        for (const task of listed) expect(task).toEqual(await world.store.tasks.getTask(task.id))
      })
    }
  }

  specify('without a status all tasks are listed, the newest first', async (world) => {
    const ids = Object.values(await populate(world)).flat()
    const listed = idsOf(await world.list({}, 5))
    expect(listed).toEqual([...ids].sort((a, b) => Number(b) - Number(a)))
  })

  specify(
    'integers that a number would change keep all their digits in the records of tasks',
    async (world) => {
      const input = '{"id":9007199254740993,"list":[-12345678901234567890],"large":1152921504606847000}'
      const [task] = await world.store.tasks.enqueue([newTask({ input })])
      const exact = { id: 9007199254740993n, list: [-12345678901234567890n], large: 2 ** 60 }
      expect((await world.store.tasks.getTask(task!.id))?.input).toEqual(exact)
      const worker = await world.worker()
      await worker.complete((await worker.claim(1))[0]!, input)
      expect(await world.list({})).toMatchObject([{ input: exact, result: exact }])
    },
  )

  specify('a page holds no more than its limit, and the last one has no next', async (world) => {
    await world.enqueueMany(5)
    const first = await world.store.tasks.listTasks({ status: 'queued' }, { limit: 3, cursor: null })
    expect(first.items).toHaveLength(3)
    const second = await world.store.tasks.listTasks({ status: 'queued' }, { limit: 3, cursor: first.next })
    expect(second.items).toHaveLength(2)
    expect(second.next).toBe(null)
  })

  specify('a listing can be narrowed to a queue and a task name', async (world) => {
    const [wanted] = await world.enqueueMany(1, { queue: 'x', name: 'a' })
    const [otherQueue] = await world.enqueueMany(1, { queue: 'y', name: 'a' })
    const [otherName] = await world.enqueueMany(1, { queue: 'x', name: 'b' })
    for (const status of [undefined, 'queued'] as const) {
      expect(idsOf(await world.list({ status, queue: 'x', name: 'a' }, 1))).toEqual([wanted])
      expect(idsOf(await world.list({ status, name: 'a' }, 1)).sort()).toEqual([wanted, otherQueue].sort())
      expect(idsOf(await world.list({ status, queue: 'x' }, 1)).sort()).toEqual([wanted, otherName].sort())
      expect(await world.list({ status, queue: 'nobody' }, 1)).toEqual([])
    }
  })

  specify(
    'tasks that come while somebody turns pages are no reason to miss or repeat others',
    async (world) => {
      const ids = await world.enqueueMany(10)
      for (const filter of [{}, { status: 'queued' }] as const) {
        const first = await world.store.tasks.listTasks(filter, { limit: 4, cursor: null })
        world.clock.advance(1)
        await world.enqueueMany(3)
        const rest = await world.store.tasks.listTasks(filter, { limit: 100, cursor: first.next })
        const listed = idsOf([...first.items, ...rest.items])
        expect(new Set(listed).size).toBe(listed.length)
        for (const id of ids) expect(listed).toContain(id)
      }
    },
  )

  specify('the last to finish is listed first', async (world) => {
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    const claims = await worker.claim(2)
    await worker.complete(claims[1]!)
    world.clock.advance(1)
    await worker.complete(claims[0]!)
    expect(idsOf(await world.list({ status: 'completed' }))).toEqual([first, second])
  })

  specify('the next to become due is listed first', async (world) => {
    const later = await world.enqueue({ runAfter: { ms: 200 } })
    const sooner = await world.enqueue({ runAfter: { ms: 100 } })
    expect(idsOf(await world.list({ status: 'scheduled' }))).toEqual([sooner, later])
  })

  specify('a cursor that is none of ours is refused with a hint', async ({ store }) => {
    for (const cursor of ['nonsense', '', 'W10', 'WzEsMiwzXQ', 'eyJhIjoxfQ']) {
      for (const status of [undefined, 'queued', 'completed'] as const) {
        const answer = store.tasks.listTasks({ status }, { limit: 5, cursor })
        await expect(answer).rejects.toMatchObject({ code: 'BAD_CURSOR' })
      }
      const answer = store.tasks.taskLogs('1', { limit: 5, cursor })
      await expect(answer).rejects.toMatchObject({ code: 'BAD_CURSOR' })
    }
  })

  specify(
    'a list says of a large input or result only how large it is, and a task has it all',
    async (world) => {
      const sizes = [10, 1_000, 2_100, 3_000, 5_000, 100_000, 1_000_000]
      const texts = sizes.map((size) => 'x'.repeat(size - 2))
      const worker = await world.worker()
      for (const text of texts) await world.enqueue({ input: JSON.stringify(text) })
      const claims = await worker.claim(sizes.length)
      for (const claim of claims) await worker.complete(claim, claim.input)
      const tasks = (await world.list()).toSorted((one, other) => Number(one.id) - Number(other.id))
      const listed = sizes.map((size, n) => (size > 4_096 ? { $shortened: { bytes: size } } : texts[n]))
      expect(tasks.map(({ input }) => input)).toEqual(listed)
      expect(tasks.map(({ result }) => result)).toEqual(listed)
      for (const [n, { id }] of tasks.entries())
        expect(await world.task(id)).toMatchObject({ input: texts[n], result: texts[n] })
    },
  )

  specify(
    'a page of tasks ends before it has more than 1 MiB, and the next one goes on there',
    async (world) => {
      const sizes = [...Array(5).fill(300_000), 2_000_000, ...Array(4).fill(300_000)]
      const ids = await world.enqueueMany(sizes.length)
      const worker = await world.worker()
      for (const [n, claim] of (await worker.claim(sizes.length)).entries()) {
        const failure = { kind: 'error', message: 'large', stack: 'x'.repeat(sizes[n]) } as const
        await worker.settle(claim, { kind: 'failed', failure, retryAfterMs: null })
      }
      for (const filter of [{}, { error: 'large' }]) {
        const pages = await pagesOf(world, filter)
        expect(pages.map((page) => page.length)).toEqual([3, 1, 1, 3, 2])
        expect(idsOf(pages.flat())).toEqual(ids.toReversed())
      }
    },
  )
}

/** Pages from the first to the last; each of at most 1 MiB of JSON, unless it is a single task. */
async function pagesOf(world: World, filter: TaskFilter): Promise<TaskRecord[][]> {
  const pages: TaskRecord[][] = []
  let cursor: string | null = null
  do {
    const page: Page<TaskRecord> = await world.store.tasks.listTasks(filter, { limit: 100, cursor })
    pages.push(page.items)
    cursor = page.next
  } while (cursor !== null && pages.length < 100)
  return pages
}

/** Some of every status, of several names and priorities, many at the same moment. */
async function populate(world: World): Promise<Record<TaskStatus, string[]>> {
  const { store } = world
  const ids = Object.fromEntries(TASK_STATUSES.map((status) => [status, [] as string[]])) as Record<
    TaskStatus,
    string[]
  >
  const worker = await world.worker({ names: ['a', 'b', 'c'], queues: ['x', 'y'] })
  for (const status of ['completed', 'failed', 'cancelled', 'running', 'queued', 'scheduled'] as const) {
    for (let i = 0; i < EACH; i++) {
      const kind = { name: ['a', 'b', 'c'][i % 3]!, queue: i % 2 ? 'x' : 'y', priority: 100 + (i % 2) }
      const runAfter = status === 'scheduled' ? { ms: 10_000 + (i % 4) } : null
      ids[status].push(await world.enqueue({ ...kind, runAfter }))
      if (i % 4 === 0) world.clock.advance(1)
    }
    if (status === 'queued' || status === 'scheduled') continue
    for (const claim of await worker.claim(EACH)) {
      if (status === 'completed') await worker.complete(claim)
      else if (status === 'failed') await worker.fail(claim)
      else if (status === 'cancelled') await worker.settle(claim, { kind: 'cancelled' })
      if (claim.attempt % 3 === 0) world.clock.advance(1)
    }
  }
  // Held ahead and suspected tasks are queued, too.
  const crashing = await world.worker({ names: ['a'], queues: ['x', 'y'], worker: 'worker:crashing:0' })
  await crashing.claim(2)
  await store.sessions.endSession(crashing.session, 'crash')
  const ahead = await world.worker({ names: ['b'], queues: ['x', 'y'] })
  await ahead.claim(0, 2)
  return ids
}
