import type { NewTask } from '../../src/store/ports/new-task.ts'
import type { Theme } from './theme.ts'
import { counts, idsOf, newTask } from './world.ts'

export const enqueueing: Theme = (specify, expect) => {
  specify('an enqueued task is there with everything it was given', async (world) => {
    const id = await world.enqueue({
      name: 'mail.send',
      queue: 'mail',
      requires: { region: 'eu', gpu: true, cores: 2 },
      priority: 7,
      input: '{"to":"a@b.c"}',
      key: 'a@b.c',
      maxAttempts: 5,
    })
    expect(await world.store.tasks.getTask(id)).toEqual({
      id,
      name: 'mail.send',
      queue: 'mail',
      status: 'queued',
      priority: 7,
      attempts: 0,
      maxAttempts: 5,
      crashes: 0,
      input: { to: 'a@b.c' },
      result: null,
      error: null,
      progress: null,
      key: 'a@b.c',
      requires: { region: 'eu', gpu: true, cores: 2 },
      worker: null,
      createdAt: world.clock.now(),
      runAfter: null,
      startedAt: null,
      finishedAt: null,
    })
  })

  specify('what was enqueued is seen by every other store, and by those opened later', async (world) => {
    const other = await world.database.open()
    const id = await world.enqueue()
    expect(await other.tasks.getTask(id)).toMatchObject({ id, status: 'queued' })
    await world.store.close()
    const later = await world.database.open()
    expect(await later.tasks.getTask(id)).toMatchObject({ id, status: 'queued' })
  })

  specify('the answers come in the order of the tasks', async ({ store }) => {
    const tasks = ['c', 'a', 'b'].map((key) => newTask({ key, input: JSON.stringify(key) }))
    const answers = await store.tasks.enqueue(tasks)
    const inputs = await Promise.all(answers.map(async ({ id }) => (await store.tasks.getTask(id))?.input))
    expect(inputs).toEqual(['c', 'a', 'b'])
  })

  specify('a call of which one task cannot be stored stores none, and leaves no trace', async (world) => {
    const { store } = world
    const good = newTask({ queue: 'fresh', key: 'k' })
    const impossible = newTask({ priority: 'high' as never })
    await expect(store.tasks.enqueue([good, impossible])).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await world.counts()).toEqual(counts({}))
    const other = await world.enqueue({ queue: 'other' })
    const [again] = await store.tasks.enqueue([good])
    expect(again?.created).toBe(true)
    expect(await world.task(again!.id)).toMatchObject({ queue: 'fresh' })
    expect(await world.task(other)).toMatchObject({ queue: 'other' })
  })

  specify('nothing to enqueue is answered with nothing', async ({ store }) => {
    expect(await store.tasks.enqueue([])).toEqual([])
  })

  specify('every task has an id of its own, also when stores enqueue at the same time', async (world) => {
    const other = await world.database.open()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        (i % 2 === 0 ? world.store : other).tasks.enqueue([newTask(), newTask()]),
      ),
    )
    expect(new Set(idsOf(answers.flat())).size).toBe(100)
    expect((await world.counts()).queued).toBe(100)
  })

  specify('of tasks that come in one call each keeps what is its own', async (world) => {
    const long = JSON.stringify('x'.repeat(10_000))
    const parts: Partial<NewTask>[] = [
      {},
      { input: '"a"' },
      { input: '"b"', priority: 5 },
      { input: '"c"', priority: 5, maxAttempts: 9 },
      { input: '"d"', key: 'k' },
      { input: '"e"', runAfter: { ms: 1_000 } },
      { input: '"f"', overrides: { timeoutMs: 5 } },
      { input: '"g"', queue: 'other' },
      { input: '"h"', name: 'other' },
      { input: '"i"', requires: { gpu: true } },
      { input: long },
      { input: '"j"' },
    ]
    // Each beside one that has nothing of its own, so that nobody can be mistaken for his neighbour.
    const tasks = parts.flatMap((part) => [newTask({ input: '"plain"' }), newTask(part)])
    const ids = idsOf(await world.store.tasks.enqueue(tasks))
    for (const [position, id] of ids.entries()) {
      const { name, queue, priority, maxAttempts, input, key, requires } = tasks[position]!
      expect(await world.task(id)).toMatchObject({
        ...{ name, queue, priority, maxAttempts, key, requires },
        input: input === null ? null : JSON.parse(input),
        runAfter: position === 11 ? world.clock.now() + 1_000 : null,
      })
    }
    const worker = await world.worker({ queues: ['default'] })
    const claimed = await worker.claim(100)
    expect(claimed.find(({ id }) => id === ids[13])).toMatchObject({ overrides: { timeoutMs: 5 } })
    expect(claimed.find(({ id }) => id === ids[12])).toMatchObject({ overrides: null })
  })

  specify('of tasks that come in one call with the same overrides each has them', async (world) => {
    const first = { trace: { traceparent: 'one' } }
    const second = { trace: { traceparent: 'two' } }
    const tasks = [first, first, first, second, second, null, null].map((overrides) => newTask({ overrides }))
    const ids = idsOf(await world.store.tasks.enqueue(tasks))
    const claimed = await (await world.worker()).claim(10)
    const found = ids.map((id) => claimed.find((claim) => claim.id === id)!.overrides)
    expect(found).toEqual(tasks.map(({ overrides }) => overrides))
  })

  specify('inputs that come in one call arrive letter by letter', async (world) => {
    const values = [
      '"quoted"',
      'back\\slash',
      'null',
      '1',
      '',
      '\u0000',
      '\ud83d\ude00',
      '\ud800',
      '\u2028',
      'é',
      '{}',
      "'",
    ]
    const ids = idsOf(
      await world.store.tasks.enqueue(values.map((value) => newTask({ input: JSON.stringify(value) }))),
    )
    for (const [position, id] of ids.entries()) {
      expect((await world.task(id)).input).toBe(values[position])
    }
  })

  specify('thousands of tasks can come in one call', async (world) => {
    const ids = await world.enqueueMany(5_000)
    expect(new Set(ids).size).toBe(5_000)
    expect(await world.store.tasks.countTasks({})).toMatchObject({ queued: 5_000 })
  })

  specify('an id that names no task is answered with null', async ({ store }) => {
    for (const id of ['999', '0', '-1', '1.5', '', 'nonsense', '9'.repeat(40)]) {
      expect(await store.tasks.getTask(id), id).toBe(null)
    }
  })

  const sizes = { 'of some bytes': 10, 'just above 2 kB': 2_100, 'of 3 kB': 3_000, 'of 1 MB': 1_000_000 }
  for (const [size, length] of Object.entries(sizes)) {
    specify(`an input ${size} comes back unchanged, to a reader and to a worker`, async (world) => {
      const value = { text: 'ä"\\ \u2028'.repeat(length / 5), list: [1, null, true] }
      const input = JSON.stringify(value)
      const id = await world.enqueue({ input })
      expect((await world.task(id)).input).toEqual(value)
      const worker = await world.worker()
      const claim = await worker.claimOne()
      expect(claim.input).toBe(input)
      await worker.giveBack(claim)
      expect((await worker.claimOne()).input).toBe(input)
    })
  }

  specify('no input and the inputs null, empty text, zero and false are told apart', async (world) => {
    const inputs = [null, 'null', '""', '0', 'false', '[]', '{}']
    for (const input of inputs) await world.enqueue({ input })
    const worker = await world.worker()
    const claims = await worker.claim(inputs.length)
    expect(claims.map(({ input }) => input)).toEqual(inputs)
  })
}
