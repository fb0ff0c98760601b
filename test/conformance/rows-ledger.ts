import type { RowRecord } from '../../src/model/row.ts'
import type { Page } from '../../src/model/task.ts'
import { addFiles, fileSource, keysOf, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const rowsLedger: Theme = (specify, expect) => {
  specify('a row that failed backs off while the others go on', async (world) => {
    await withFiles(world, 2)
    const worker = await rowWorker(world)
    expect(await worker.fail(await worker.claimOne(), 5_000)).toMatchObject({
      kind: 'failed',
      retryInMs: 5_000,
    })
    const other = await rowWorker(world, { worker: 'worker:other:0', store: await world.database.open() })
    expect(keysOf(await other.claim(5))).toEqual(['2'])
    expect(await row(world, '1')).toMatchObject({
      state: 'backing-off',
      attempts: 1,
      error: { kind: 'error', message: 'no' },
      nextAt: world.clock.now() + 5_000,
    })
    expect(await worker.take()).toMatchObject({ claims: [], nextDueInMs: 5_000 })
    world.clock.advance(5_000)
    expect(await worker.claimOne()).toMatchObject({ key: '1', attempt: 2 })
  })

  specify('rows that are claimed together keep their own attempts', async (world) => {
    await withFiles(world, 4)
    const worker = await rowWorker(world)
    const [first, second, ...others] = await worker.claim(4)
    for (const claim of [first!, second!]) await worker.fail(claim, 1_000)
    for (const claim of others) await worker.giveBack(claim)
    world.clock.advance(1_000)
    for (const claim of await worker.claimAll()) await worker.fail(claim, 1_000)
    const attempts = ['1', '2', '3', '4'].map(async (key) => (await row(world, key))?.attempts)
    expect(await Promise.all(attempts)).toEqual([2, 2, 1, 1])
  })

  specify('after its last attempt a row is quarantined, with its error and its history', async (world) => {
    await withFiles(world, 1, { maxAttempts: 2 })
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), 0, 'first')
    expect(await worker.fail(await worker.claimOne(), 0, 'second')).toMatchObject({
      kind: 'failed',
      retryInMs: null,
    })
    world.clock.advance(1_000_000_000)
    expect(await worker.take()).toMatchObject({ claims: [], nextDueInMs: null })
    const quarantined = await row(world, '1')
    expect(quarantined).toMatchObject({ state: 'quarantined', attempts: 2, error: { message: 'second' } })
    expect(quarantined?.history).toMatchObject([
      { attempt: 1, outcome: 'error', message: 'first' },
      { attempt: 2, outcome: 'error', message: 'second' },
    ])
  })

  specify(
    'a page of rows ends before it has more than 1 MiB, and the next one goes on there',
    async (world) => {
      await withFiles(world, 5)
      const worker = await rowWorker(world)
      for (const claim of await worker.claim(5)) await worker.fail(claim, null, 'x'.repeat(200_000))
      const pages: string[][] = []
      let cursor: string | null = null
      do {
        const page: Page<RowRecord> = await world.store.rows.listRows(
          'tag-files',
          { state: 'quarantined' },
          { limit: 10, cursor },
        )
        pages.push(keysOf(page.items))
        cursor = page.next
      } while (cursor !== null && pages.length < 10)
      // The error stands in the record twice: as the last one, and in the history.
      expect(pages).toEqual([['1', '2'], ['3', '4'], ['5']])
    },
  )

  specify('a failure that is final quarantines at once', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), null)
    expect(await row(world, '1')).toMatchObject({ state: 'quarantined', attempts: 1 })
  })

  specify('a handler that asks for another time is charged nothing', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const answer = await worker.settle(await worker.claimOne(), { kind: 'later', afterMs: 3_000 })
    expect(answer).toEqual({ kind: 'returned', afterMs: 3_000 })
    expect(await worker.take()).toMatchObject({ claims: [], nextDueInMs: 3_000 })
    world.clock.advance(3_000)
    expect(await worker.claimOne()).toMatchObject({ attempt: 1 })
  })

  specify('what was handed back is as it was', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), 0)
    await worker.giveBack(await worker.claimOne())
    expect(await worker.claimOne()).toMatchObject({ attempt: 2 })
  })

  for (const version of [null, 'edited']) {
    const how = version === null ? 'without a version column' : 'with a version column'
    specify(`an edited row is a new row, whatever kept it back (${how})`, async (world) => {
      await withFiles(world, 2, { version })
      const worker = await rowWorker(world)
      await worker.fail(await worker.claimOne(), null)
      await worker.fail(await worker.claimOne(), 60_000)
      expect(await worker.claim()).toEqual([])
      await world.database.tables.run(`UPDATE files SET path = 'new', edited = 1`)
      expect(await row(world, '1')).toMatchObject({ state: 'waiting', attempts: 0, error: null })
      expect(await worker.claimAll()).toMatchObject([
        { key: '1', attempt: 1 },
        { key: '2', attempt: 1 },
      ])
    })
  }

  specify('a row that was written anew as it was is not an edited row', async (world) => {
    await withFiles(world, 1, { version: 'edited' })
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), null)
    await world.database.tables.run('UPDATE files SET path = path')
    expect(await worker.claim()).toEqual([])
    expect(await row(world, '1')).toMatchObject({ state: 'quarantined' })
  })

  specify('a row edited while its run failed is tried again at once, and charged nothing', async (world) => {
    await withFiles(world, 1, { maxAttempts: 1 })
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await world.database.tables.run('UPDATE files SET edited = 1')
    expect(await worker.fail(claim, null)).toMatchObject({ kind: 'changed', times: 1 })
    expect(await worker.claimOne()).toMatchObject({ key: '1', attempt: 1 })
  })

  specify(
    'what is completed leaves nothing behind: it starts anew when it needs work again',
    async (world) => {
      await withFiles(world, 1)
      const worker = await rowWorker(world)
      await worker.fail(await worker.claimOne(), 0)
      await worker.complete(await worker.claimOne())
      await world.database.tables.run('UPDATE files SET needs = 1')
      expect(await worker.claimOne()).toMatchObject({ attempt: 1 })
    },
  )

  specify('a quarantined row that comes and goes is forgotten', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), null)
    await world.database.tables.run('UPDATE files SET valid = 0')
    expect(await world.store.rows.getRow('tag-files', '1')).toBe(null)
    await repairAll(world)
    await world.database.tables.run('UPDATE files SET valid = 1')
    expect(await worker.claimOne()).toMatchObject({ key: '1', attempt: 1 })
  })

  specify('a row tried by hand starts anew', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    const [quarantined, delayed] = await worker.claim(2)
    await worker.fail(quarantined!, null)
    await worker.fail(delayed!, 60_000)
    expect(await world.store.rows.retryRow('tag-files', '1')).toBe('retried')
    expect(await world.store.rows.retryRow('tag-files', '2')).toBe('retried')
    expect(await world.store.rows.retryRow('tag-files', '3')).toBe('waiting')
    expect(await world.store.rows.retryRow('tag-files', '4')).toBe('gone')
    const claims = await worker.claimAll()
    expect(claims).toMatchObject([{ key: '1', attempt: 1 }, { key: '2', attempt: 1 }, { key: '3' }])
    expect(await world.store.rows.retryRow('tag-files', '3')).toBe('claimed')
  })

  specify(
    'all that are quarantined are released, step by step; what backs off is left alone',
    async (world) => {
      await withFiles(world, 8)
      const worker = await rowWorker(world)
      for (const claim of await worker.claim(8)) await worker.fail(claim, claim.key === '8' ? 60_000 : null)
      let after: string | null = null
      let released = 0
      for (let step = 0; step < 10; step++) {
        const answer = await world.store.rows.releaseRows('tag-files', { limit: 3, after })
        released += answer.released
        after = answer.next
        if (after === null) break
      }
      expect(released).toBe(7)
      expect(keysOf(await worker.claimAll())).toEqual(['1', '2', '3', '4', '5', '6', '7'])
      expect(await row(world, '8')).toMatchObject({ state: 'backing-off' })
    },
  )

  specify('behind many that are quarantined the others are found, at both ends', async (world) => {
    await withFiles(world, 1_500)
    const worker = await rowWorker(world)
    const failure = { kind: 'error', message: 'no', stack: null } as const
    await worker.settleAll(await worker.claim(1_500), { kind: 'failed', failure, retryAfterMs: null })
    expect(await worker.claim()).toEqual([])
    await addFiles(world, 1, 5_000)
    expect(keysOf(await worker.claim())).toEqual(['5000'])
    await addFiles(world, 1, 0)
    expect(keysOf(await worker.claim())).toEqual(['0'])
    expect(await world.store.rows.countRows('tag-files')).toMatchObject({
      quarantined: 1_500,
      claimed: 2,
      waiting: 0,
    })
  })

  specify('claims and entries without a reason are taken away, and no others', async (world) => {
    await withFiles(world, 6)
    const worker = await rowWorker(world)
    const claims = await worker.claim(4)
    await worker.fail(claims[0]!, null)
    await worker.fail(claims[1]!, null)
    const { tables } = world.database
    await tables.run('UPDATE files SET edited = 1 WHERE id = 1')
    await tables.run('DELETE FROM files WHERE id = 3')
    expect(await repairAll(world)).toBe(2)
    expect(await repairAll(world)).toBe(0)
    expect(await row(world, '2')).toMatchObject({ state: 'quarantined' })
    expect(await row(world, '4')).toMatchObject({ state: 'claimed' })
    expect(await worker.complete(claims[3]!)).toEqual({ kind: 'done' })
  })

  specify('two discoveries on one table keep apart', async (world) => {
    await withFiles(world, 1)
    await world.store.rows.planDiscoveries([fileSource(world, { name: 'other' })])
    const worker = await rowWorker(world)
    await worker.fail(await worker.claimOne(), null)
    const other = await rowWorker(world, { discoveries: ['other'] })
    expect(await other.claimOne()).toMatchObject({ id: 'other/1', attempt: 1 })
  })
}

function row(world: World, key: string) {
  return world.store.rows.getRow('tag-files', key)
}

/** How many it took away. */
async function repairAll(world: World): Promise<number> {
  let removed = 0
  let after: string | null = null
  for (let step = 0; step < 100; step++) {
    const answer = await world.store.maintenance.repairRows({ limit: 2, after })
    removed += answer.removed
    after = answer.next
    if (after === null) return removed
  }
  throw new Error('the repair does not end')
}
