import { addFiles, keysOf, type RowWorker, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const rowsCrashes: Theme = (specify, expect) => {
  specify('a crash is charged to the one row that was running', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.claimOne()
    const ended = await world.store.sessions.endSession(worker.session, 'crash', {
      signature: 'SIGKILL, pid 7',
    })
    expect(ended).toEqual({ returned: 1, blamed: 'tag-files/1', workerBroken: false })
    const message = 'the worker died while running it (1 of 3 crashes): SIGKILL, pid 7'
    expect(await row(world, '1')).toMatchObject({
      state: 'waiting',
      attempts: 1,
      crashes: 1,
      error: { kind: 'crash', message },
      history: [{ outcome: 'crash', message }],
    })
    expect(await (await rowWorker(world)).claimOne()).toMatchObject({ key: '1', attempt: 2, suspect: true })
  })

  specify(
    'a worker that would rather show on another row that it is broken is not given the same',
    async (world) => {
      await withFiles(world, 3)
      const worker = await rowWorker(world)
      const { discoveries } = worker
      const takeOne = async (avoid: string[]) => {
        const want = { discoveries, start: 1, ahead: 0, empty: true, avoid: [...avoid, '7', 'other/1'] }
        return keysOf((await worker.exchange({ want })).claims)
      }
      const crashedOn: string[] = []
      for (const key of ['1', '2', '3']) {
        expect(await takeOne(crashedOn)).toEqual([key])
        crashedOn.push(`tag-files/${key}`)
        await worker.end('crash')
        await worker.begin()
      }
      // All have been charged: there is nothing else.
      expect(await takeOne(crashedOn)).toEqual([])
      expect(await takeOne(crashedOn.slice(1))).toEqual(['1'])
    },
  )

  specify('the third crash quarantines, with its history', async (world) => {
    await withFiles(world, 2, { maxAttempts: 10 })
    const worker = await rowWorker(world)
    for (let crash = 1; crash <= 3; crash++) {
      expect(await worker.claimOne()).toMatchObject({ key: '1' })
      const end = await worker.end('crash')
      expect(end).toEqual({ returned: crash < 3 ? 1 : 0, blamed: 'tag-files/1', workerBroken: false })
      await worker.begin()
    }
    const quarantined = await row(world, '1')
    expect(quarantined).toMatchObject({ state: 'quarantined', crashes: 3, error: { kind: 'crash' } })
    expect(quarantined?.history.map(({ outcome }) => outcome)).toEqual(['crash', 'crash', 'crash'])
    expect(keysOf(await worker.claimAll())).toEqual(['2'])
  })

  specify('a discovery may be more patient, or less', async (world) => {
    await withFiles(world, 1, { crashLimit: 1 })
    const worker = await rowWorker(world)
    await worker.claimOne()
    expect(await worker.end('crash')).toMatchObject({ returned: 0, blamed: 'tag-files/1' })
    expect(await row(world, '1')).toMatchObject({ state: 'quarantined', crashes: 1 })
  })

  specify('a handler that writes its row and then kills its worker is quarantined, too', async (world) => {
    await withFiles(world, 1, { maxAttempts: 10 })
    const worker = await rowWorker(world)
    for (let crash = 0; crash < 3; crash++) {
      await worker.claimOne()
      await world.database.tables.run('UPDATE files SET edited = edited + 1')
      await worker.end('crash')
      await worker.begin()
    }
    expect(await row(world, '1')).toMatchObject({ state: 'quarantined', crashes: 3 })
  })

  specify('when several were running nobody is charged; each is next run alone', async (world) => {
    await withFiles(world, 3, { maxAttempts: 1 })
    const worker = await rowWorker(world)
    await worker.claim(2)
    expect(await worker.end('crash')).toEqual({ returned: 2, blamed: null, workerBroken: false })
    await worker.begin()
    const first = await worker.claim(10, 10)
    expect(first).toMatchObject([{ suspect: true, started: true, attempt: 1 }])
    // Told although there is other work: a worker that is never empty would leave the other one waiting for ever.
    expect(await worker.take(10)).toMatchObject({
      claims: [{ key: '3', suspect: false }],
      suspectsWaiting: true,
    })
    await worker.complete(first[0]!)
    expect(await worker.take(10)).toMatchObject({ claims: [], suspectsWaiting: true })
  })

  specify(
    'what crashed elsewhere is run alone by the next who is free, though other rows wait',
    async (world) => {
      await withFiles(world, 6)
      const worker = await rowWorker(world)
      await worker.complete(await worker.claimOne())
      const other = await rowWorker(world, { worker: 'worker:other:0', store: await world.database.open() })
      const crashed = keysOf(await other.claim(2))
      await other.end('crash')
      const [alone, ...more] = await worker.claim(10)
      expect(alone).toMatchObject({ suspect: true })
      expect(crashed).toContain(alone!.key)
      expect(more).toEqual([])
      expect(await worker.take(10)).toMatchObject({ suspectsWaiting: true })
    },
  )

  specify(
    'who has nothing to hand in, and wants nothing, hears that its session was ended',
    async (world) => {
      await withFiles(world, 1)
      const worker = await rowWorker(world)
      expect(await worker.exchange({})).toMatchObject({ sessionEnded: false })
      await worker.claimOne()
      await worker.end('lease')
      expect(await worker.exchange({})).toMatchObject({ sessionEnded: true })
    },
  )

  specify('a task and a row that were running together are both suspects', async (world) => {
    await withFiles(world, 1)
    const id = await world.enqueue()
    const tasks = await world.worker()
    await tasks.claimOne()
    const { session } = tasks
    const want = { discoveries: ['tag-files'], start: 1, ahead: 0, empty: false }
    const { claims } = await world.store.rows.exchangeRows({ session, starts: [], outcomes: [], want })
    expect(claims).toHaveLength(1)
    expect(await tasks.end('crash')).toEqual({ returned: 2, blamed: null, workerBroken: false })
    expect(await world.task(id)).toMatchObject({ status: 'queued', attempts: 0, crashes: 0 })
    expect(await (await world.worker()).claim(5)).toMatchObject([{ id, suspect: true }])
    expect(await (await rowWorker(world)).claim(5)).toMatchObject([{ key: '1', suspect: true }])
  })

  specify(
    'a worker that crashes on five different items in a row is broken, and no row is charged',
    async (world) => {
      await withFiles(world, 4)
      const worker = await rowWorker(world)
      for (const key of ['1', '2', '3', '4'])
        expect(await crashOn(worker, key)).toMatchObject({ workerBroken: false })
      await addFiles(world, 1, 5)
      expect(await crashOn(worker, '5')).toMatchObject({ blamed: null, workerBroken: true })
      for (const key of ['1', '2', '3', '4', '5'])
        expect(await row(world, key)).toMatchObject({ crashes: 0, attempts: 0 })
    },
  )

  specify('a worker that completed a row in between is not broken', async (world) => {
    await withFiles(world, 6)
    const worker = await rowWorker(world)
    for (const key of ['1', '2', '3', '4']) await crashOn(worker, key)
    await worker.complete(await takeOnly(worker, '6'))
    expect(await crashOn(worker, '5')).toMatchObject({ blamed: 'tag-files/5', workerBroken: false })
  })

  specify('a row that was never started goes back uncharged after a crash', async (world) => {
    await withFiles(world, 1, { maxAttempts: 1 })
    const worker = await rowWorker(world)
    await worker.claim(0, 1)
    expect(await worker.end('crash')).toMatchObject({ returned: 1, blamed: null })
    expect(await (await rowWorker(world)).claimOne()).toMatchObject({ attempt: 1, suspect: false })
  })

  specify('after a stop rows go back as if they had never been claimed', async (world) => {
    await withFiles(world, 2)
    const worker = await rowWorker(world)
    await worker.claim(2)
    expect(await worker.end('stop')).toEqual({ returned: 2, blamed: null, workerBroken: false })
    expect(await row(world, '1')).toMatchObject({ state: 'waiting', attempts: 0, error: null })
  })

  specify('after a lost lease the attempt counts, and no crash', async (world) => {
    await withFiles(world, 1, { maxAttempts: 2 })
    const worker = await rowWorker(world)
    await worker.claimOne()
    await worker.end('lease')
    expect(await row(world, '1')).toMatchObject({ state: 'waiting', attempts: 1, crashes: 0 })
    await worker.begin()
    await worker.claimOne()
    expect(await worker.end('lease')).toMatchObject({ returned: 0 })
    expect(await row(world, '1')).toMatchObject({ state: 'quarantined', attempts: 2 })
  })

  specify(
    'a row that was done or deleted meanwhile is not remembered when its worker dies',
    async (world) => {
      await withFiles(world, 2)
      const worker = await rowWorker(world)
      await worker.claim(2)
      await world.database.tables.run('UPDATE files SET needs = 0 WHERE id = 1')
      await world.database.tables.run('DELETE FROM files WHERE id = 2')
      await worker.end('crash')
      await world.database.tables.run('UPDATE files SET needs = 1')
      expect(await (await rowWorker(world)).claimAll()).toMatchObject([
        { key: '1', attempt: 1, suspect: false },
      ])
    },
  )

  specify('what took workers down and is released runs alone', async (world) => {
    await withFiles(world, 1, { crashLimit: 1 })
    const worker = await rowWorker(world)
    await worker.claimOne()
    await worker.end('crash')
    await worker.begin()
    expect(await worker.claim()).toEqual([])
    expect(await world.store.rows.releaseRows('tag-files', { limit: 10, after: null })).toMatchObject({
      released: 1,
    })
    expect(await worker.claim(5)).toMatchObject([{ key: '1', attempt: 1, suspect: true }])
  })
}

function row(world: World, key: string) {
  return world.store.rows.getRow('tag-files', key)
}

/** Takes this row alone, whatever else waits, crashes, and begins a new life. */
async function crashOn(worker: RowWorker, key: string) {
  await takeOnly(worker, key)
  const end = await worker.end('crash')
  await worker.begin()
  return end
}

/** What is claimed before it is handed back. */
async function takeOnly(worker: RowWorker, key: string) {
  const others = []
  for (let round = 0; round < 100; round++) {
    const [claim] = await worker.claim()
    if (claim === undefined) break
    if (claim.key === key) {
      for (const other of others) await worker.giveBack(other)
      return claim
    }
    others.push(claim)
  }
  throw new Error(`row ${key} is not to be had`)
}
