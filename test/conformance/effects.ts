import type { TestDatabase } from './database.ts'
import type { Theme } from './theme.ts'
import { counts, newTask } from './world.ts'

export const effects: Theme = (specify, expect) => {
  specify('the effects of a handler and the completion of its task commit together', async (world) => {
    const { store, database } = world
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const startedAt = world.clock.now()
    world.clock.advance(20)
    const run = { ...claim, startedAt }
    const answer = await store.tasks.completeWith(worker.session, run, '{"n":1}', (tx) =>
      database.notes.write(tx, 'a'),
    )
    expect(answer).toBe(true)
    expect(await database.notes.all()).toEqual(['a'])
    expect(await world.task(id)).toMatchObject({
      status: 'completed',
      result: { n: 1 },
      startedAt,
      finishedAt: world.clock.now(),
    })
    expect(await world.counts()).toEqual(counts({ completed: 1 }))
  })

  specify('a second completion with effects is refused and writes nothing', async (world) => {
    const { database } = world
    await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const once = (text: string) => worker.completeWith(claim, (tx) => database.notes.write(tx, text))
    const [first, second] = await Promise.all([once('first'), once('second')])
    expect([first, second].sort()).toEqual([false, true])
    expect(await database.notes.all()).toEqual([first ? 'first' : 'second'])
    expect(await world.counts()).toEqual(counts({ completed: 1 }))
  })

  specify('effects are not even called for a claim that was lost', async (world) => {
    await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    await worker.end('lease')
    let called = false
    const answer = await worker.completeWith(claim, () => {
      called = true
    })
    expect(answer).toBe(false)
    expect(called).toBe(false)
  })

  specify(
    'effects that throw write nothing: the error comes through, and the task is still held',
    async (world) => {
      const { database } = world
      const id = await world.enqueue()
      const worker = await world.worker()
      const claim = await worker.claimOne()
      const mistake = new Error('the handler is wrong')
      const failing = worker.completeWith(claim, (tx) => writeAndThrow(database, tx, mistake))
      await expect(failing).rejects.toBe(mistake)
      expect(await database.notes.all()).toEqual([])
      expect(await world.task(id)).toMatchObject({ status: 'running', result: null })
      expect(await world.counts()).toEqual(counts({ running: 1 }))
      expect((await worker.fail(claim, 0)).refused).toEqual([])
    },
  )

  specify('where effects are synchronous, an asynchronous callback writes nothing', async (world) => {
    const { database } = world
    if (!database.synchronous) return
    await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    const thenables: ((tx: unknown) => unknown)[] = [
      async (tx) => database.notes.write(tx, 'async'),
      // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is what is tested
      (tx) => ({ then: () => database.notes.write(tx, 'thenable') }),
      (tx) => {
        database.notes.write(tx, 'promise')
        return Promise.resolve()
      },
      async (tx) => {
        await null
        database.notes.write(tx, 'after the transaction was over')
      },
      () => Promise.reject(new Error('that nobody waits for')),
    ]
    // Also what such a callback does later, when nobody waits for it, changes nothing and harms nobody.
    for (const effects of thenables) {
      await expect(worker.completeWith(claim, effects)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    }
    expect(await database.notes.all()).toEqual([])
    expect(await world.counts()).toEqual(counts({ running: 1 }))
    expect((await worker.complete(claim)).refused).toEqual([])
  })

  specify('effects that fail take nobody down who writes at the same time', async (world) => {
    const { store, database } = world
    await world.enqueueMany(3)
    const worker = await world.worker()
    const [bad, good] = await worker.claim(2)
    const mistake = new Error('the handler is wrong')
    const [before, failed, completed, after] = await Promise.allSettled([
      store.tasks.enqueue([newTask({ key: 'before' })]),
      worker.completeWith(bad!, (tx) => writeAndThrow(database, tx, mistake)),
      worker.completeWith(good!, (tx) => database.notes.write(tx, 'good')),
      store.tasks.enqueue([newTask({ key: 'after' })]),
    ])
    expect(failed).toEqual({ status: 'rejected', reason: mistake })
    expect(completed).toEqual({ status: 'fulfilled', value: true })
    expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled'])
    expect(await database.notes.all()).toEqual(['good'])
    expect(await world.counts()).toEqual(counts({ running: 1, completed: 1, queued: 3 }))
  })
}

/** Synchronous where effects must be. */
function writeAndThrow(database: TestDatabase, tx: unknown, mistake: Error): unknown {
  const written = database.notes.write(tx, 'that must not stay')
  if (database.synchronous) throw mistake
  return Promise.resolve(written).then(() => Promise.reject(mistake))
}
