import { file, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'

export const rowsEffects: Theme = (specify, expect) => {
  specify("the handler's own writes commit with the row", async (world) => {
    await withFiles(world, 1)
    const { notes } = world.database
    const worker = await rowWorker(world)
    const answer = await worker.completeWith(await worker.claimOne(), (tx) => notes.write(tx, 'tagged'))
    expect(answer).toEqual({ kind: 'done' })
    expect(await notes.all()).toEqual(['tagged'])
    expect(await file(world, 1)).toMatchObject({ needs: 0, bpm: 120 })
  })

  specify("the handler's own writes to the row itself are no edit of somebody else's", async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const answer = await worker.completeWith(await worker.claimOne(), (tx) =>
      world.database.tables.within(tx, `UPDATE files SET path = 'own' WHERE id = 1`),
    )
    expect(answer).toEqual({ kind: 'done' })
    expect(await file(world, 1)).toMatchObject({ path: 'own', needs: 0 })
  })

  specify('nothing of them is written when the row was edited, or is left eligible', async (world) => {
    await withFiles(world, 2)
    const { notes, tables } = world.database
    const worker = await rowWorker(world)
    const [one, two] = await worker.claim(2)
    await tables.run('UPDATE files SET edited = 1 WHERE id = 1')
    const write = (tx: unknown) => notes.write(tx, 'no')
    expect(await worker.completeWith(one!, write)).toMatchObject({ kind: 'changed' })
    expect(await worker.completeWith(two!, write, { bpm: 1 })).toMatchObject({ kind: 'failed' })
    expect(await notes.all()).toEqual([])
  })

  specify('what they throw is thrown; nothing is written, and the claim stays', async (world) => {
    await withFiles(world, 1)
    const { notes } = world.database
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    const attempt = worker.completeWith(claim, (tx) => {
      const written = notes.write(tx, 'no')
      if (written instanceof Promise) {
        return written.then(() => {
          throw new Error('mine')
        })
      }
      throw new Error('mine')
    })
    await expect(attempt).rejects.toMatchObject({ message: 'mine' })
    expect(await notes.all()).toEqual([])
    expect(await worker.complete(claim)).toEqual({ kind: 'done' })
  })
}
