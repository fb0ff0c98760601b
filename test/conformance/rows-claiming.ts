import { addFiles, fileSource, keysOf, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'

export const rowsClaiming: Theme = (specify, expect) => {
  specify('rows that match are claimed in key order, as they are', async (world) => {
    await withFiles(world, 3)
    await world.database.tables.run('UPDATE files SET valid = 0 WHERE id = 2')
    const claims = await (await rowWorker(world)).claimAll()
    expect(claims).toMatchObject([
      { id: 'tag-files/1', discovery: 'tag-files', key: '1', attempt: 1, maxAttempts: 3, started: true },
      { id: 'tag-files/3', row: { id: 3, path: 'f3', needs: 1, valid: 1, bpm: null } },
    ])
  })

  specify('a row has one holder', async (world) => {
    await withFiles(world, 5)
    const other = await world.database.open()
    const one = await (await rowWorker(world)).claim(3)
    const two = await (await rowWorker(world, { store: other, worker: 'worker:other:0' })).claimAll()
    expect([...keysOf(one), ...keysOf(two)]).toEqual(['1', '2', '3', '4', '5'])
  })

  specify('what others hold is not there, and comes back with them', async (world) => {
    await withFiles(world, 2)
    const holder = await rowWorker(world)
    await holder.claim(2)
    const other = await rowWorker(world, { worker: 'worker:other:0', store: await world.database.open() })
    expect(await other.take(1, 0, true)).toMatchObject({ claims: [], nextDueInMs: null })
    await holder.end('stop')
    expect(keysOf(await other.claimAll())).toEqual(['1', '2'])
  })

  specify('a row that comes in anywhere is found, whatever was found before', async (world) => {
    await withFiles(world, 4)
    const worker = await rowWorker(world)
    for (const claim of await worker.claim(4)) await worker.complete(claim)
    expect(await worker.claim(1)).toEqual([])
    await addFiles(world, 1, 100)
    expect(keysOf(await worker.claim(1))).toEqual(['100'])
    await world.database.tables.run('UPDATE files SET needs = 1 WHERE id = 2')
    expect(keysOf(await worker.claim(1))).toEqual(['2'])
    await addFiles(world, 1, 50)
    expect(keysOf(await worker.claim(1))).toEqual(['50'])
  })

  specify('behind many that are held or kept back the others are found, at both ends', async (world) => {
    await withFiles(world, 2_500)
    const other = await rowWorker(world, { worker: 'worker:other:0' })
    const held = await other.claim(2_500)
    expect(held).toHaveLength(2_500)
    const worker = await rowWorker(world, { store: await world.database.open() })
    expect(await worker.claim(1)).toEqual([])
    await addFiles(world, 1, 5_000)
    expect(keysOf(await worker.claim(1))).toEqual(['5000'])
    await addFiles(world, 1, 0)
    expect(keysOf(await worker.claim(1))).toEqual(['0'])
    await other.giveBack(held[1_200]!)
    expect(keysOf(await worker.claim(1))).toEqual(['1201'])
  })

  specify('rows that are claimed to be held ahead are not started, and say so later', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    const claims = await worker.claim(1, 2)
    expect(claims.map(({ started }) => started)).toEqual([true, false, false])
    const { id, fence } = claims[1]!
    expect((await worker.exchange({ starts: [{ id, fence, startedAt: 1 }] })).refused).toEqual([])
    await worker.giveBack(claims[1]!)
    expect((await worker.exchange({ starts: [{ id, fence, startedAt: 1 }] })).refused).toEqual([id])
  })

  specify('fences of rows and of tasks are of one sequence', async (world) => {
    await withFiles(world, 2)
    const tasks = await world.worker()
    const rows = await rowWorker(world)
    const first = await rows.claimOne()
    await world.enqueue()
    const task = await tasks.claimOne()
    const second = await rows.claimOne()
    expect(task.fence > first.fence && second.fence > task.fence).toBe(true)
  })

  specify('an order is kept: what is most urgent now comes first', async (world) => {
    await withFiles(world, 5, { orderBy: 'edited DESC, path' })
    await world.database.tables.run('UPDATE files SET edited = 7 WHERE id = 4')
    const worker = await rowWorker(world)
    expect(keysOf(await worker.claim(2))).toEqual(['4', '1'])
    await addFiles(world, 1, 9)
    await world.database.tables.run('UPDATE files SET edited = 8 WHERE id = 9')
    expect(keysOf(await worker.claim(1))).toEqual(['9'])
    expect(keysOf(await worker.claimAll())).toEqual(['2', '3', '5'])
  })

  specify('an order is kept behind many that are held, with NULL in it', async (world) => {
    await withFiles(world, 1_500, { orderBy: 'bpm' })
    const other = await rowWorker(world, { worker: 'worker:other:0' })
    expect(await other.claim(1_500)).toHaveLength(1_500)
    await addFiles(world, 3, 2_000)
    await world.database.tables.run('UPDATE files SET bpm = 5000 - id WHERE id >= 2000')
    const worker = await rowWorker(world, { store: await world.database.open() })
    const found = [await worker.claimOne(), await worker.claimOne(), await worker.claimOne()]
    expect(keysOf(found).toSorted()).toEqual(['2000', '2001', '2002'])
  })

  specify('several discoveries are served in turn', async (world) => {
    await withFiles(world, 20)
    await world.store.rows.planDiscoveries([fileSource(world, { name: 'other', where: 'bpm IS NULL' })])
    const worker = await rowWorker(world, { discoveries: ['tag-files', 'other'] })
    const served = []
    for (let turn = 0; turn < 4; turn++) served.push((await worker.claimOne()).discovery)
    expect(served).toEqual(['tag-files', 'other', 'tag-files', 'other'])
  })

  specify('one row may be held for two discoveries', async (world) => {
    await withFiles(world, 1)
    await world.store.rows.planDiscoveries([fileSource(world, { name: 'other', where: 'bpm IS NULL' })])
    const worker = await rowWorker(world, { discoveries: ['tag-files', 'other'] })
    expect((await worker.claimAll()).map(({ id }) => id).toSorted()).toEqual(['other/1', 'tag-files/1'])
  })

  specify('after an answer that was lost, what it claimed goes back', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    const [kept] = await worker.claim(3)
    await worker.exchange({ holding: [kept!.id] })
    const other = await rowWorker(world, { worker: 'worker:other:0' })
    expect(keysOf(await other.claimAll())).toEqual(['2', '3'])
  })
}
