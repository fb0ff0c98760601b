import type { RowRecord, RowState } from '../../src/model/row.ts'
import { keysOf, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const rowsManaging: Theme = (specify, expect) => {
  specify('rows are listed with their state and their holder, page by page', async (world) => {
    await withStates(world)
    const rows = await list(world)
    expect(rows.map(({ key, state }) => `${key} ${state}`)).toEqual([
      '1 quarantined',
      '2 backing-off',
      '3 claimed',
      '4 waiting',
      '5 waiting',
    ])
    expect(rows[2]).toMatchObject({ worker: 'worker:test:0', since: world.clock.now(), nextAt: null })
    expect(rows[1]).toMatchObject({
      worker: null,
      nextAt: world.clock.now() + 60_000,
      since: world.clock.now(),
    })
    expect(rows[3]).toMatchObject({ since: null, attempts: 0, error: null, history: [] })
    for (const row of rows) expect(await world.store.rows.getRow('tag-files', row.key)).toEqual(row)
  })

  specify('a row that needs no work is told from one that is not there', async (world) => {
    await withStates(world)
    const { rows } = world.store
    expect(await rows.findRow('tag-files', '4')).toMatchObject({ key: '4', state: 'waiting' })
    await world.database.tables.run('UPDATE files SET valid = 0 WHERE id = 4')
    expect(await rows.findRow('tag-files', '4')).toEqual({
      ...{ key: '4', state: 'ineligible', attempts: 0, crashes: 0, error: null },
      ...{ worker: null, since: null, nextAt: null, history: [] },
    })
    expect(await rows.getRow('tag-files', '4')).toBe(null)
    await world.database.tables.run('DELETE FROM files WHERE id = 4')
    expect(await rows.findRow('tag-files', '4')).toBe(null)
  })

  specify('rows are listed by state', async (world) => {
    await withStates(world)
    const byState: Record<RowState, string[]> = {
      waiting: ['4', '5'],
      claimed: ['3'],
      suspended: [],
      'backing-off': ['2'],
      quarantined: ['1'],
    }
    for (const [state, keys] of Object.entries(byState))
      expect(keysOf(await list(world, state as RowState))).toEqual(keys)
  })

  specify('the counts are what the listings say', async (world) => {
    await withStates(world)
    expect(await world.store.rows.countRows('tag-files')).toEqual({
      waiting: 2,
      claimed: 1,
      suspended: 0,
      backingOff: 1,
      quarantined: 1,
      asOf: world.clock.now(),
    })
    world.clock.advance(60_000)
    expect(await world.store.rows.countRows('tag-files')).toMatchObject({ waiting: 3, backingOff: 0 })
    await world.database.tables.run('UPDATE files SET edited = 1 WHERE id = 1')
    expect(await world.store.rows.countRows('tag-files')).toMatchObject({ waiting: 4, quarantined: 0 })
  })

  specify(
    'since when rows wait is known from the first look that found some to the first that found none',
    async (world) => {
      expect(await world.store.rows.noteWaiting([])).toEqual(new Map())
      const first = world.clock.now()
      expect(await world.store.rows.noteWaiting(['a'])).toEqual(new Map([['a', first]]))
      world.clock.advance(1_000)
      const other = await world.database.open()
      const both = new Map([
        ['a', first],
        ['b', first + 1_000],
      ])
      expect(await other.rows.noteWaiting(['a', 'b'])).toEqual(both)
      world.clock.advance(1_000)
      expect(await world.store.rows.noteWaiting(['b', 'a'])).toEqual(both)
      expect(await world.store.rows.noteWaiting(['b'])).toEqual(new Map([['b', first + 1_000]]))
      expect(await world.store.rows.noteWaiting(['a', 'b'])).toEqual(
        new Map([
          ['a', first + 2_000],
          ['b', first + 1_000],
        ]),
      )
    },
  )

  specify('rows that are held ahead are told of', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    expect(await world.store.admin.holdsAhead(null)).toBe(false)
    await worker.take(1, 1)
    for (const source of [null, { discovery: 'tag-files' }])
      expect(await world.store.admin.holdsAhead(source)).toBe(true)
    for (const source of [{ discovery: 'other' }, { queue: 'default' }])
      expect(await world.store.admin.holdsAhead(source)).toBe(false)
  })

  specify('a paused discovery gives nothing; what is held goes on', async (world) => {
    await withFiles(world, 2)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await world.store.rows.setDiscoveryPaused('tag-files', true)
    expect(await worker.take(5)).toMatchObject({ claims: [], nextDueInMs: null })
    expect(await worker.complete(claim)).toEqual({ kind: 'done' })
    await world.store.rows.setDiscoveryPaused('tag-files', false)
    expect(keysOf(await worker.claimAll())).toEqual(['2'])
  })

  specify('a pause of everything is a pause of rows, too', async (world) => {
    await withFiles(world, 2)
    const worker = await rowWorker(world)
    expect(keysOf(await worker.claim())).toEqual(['1'])
    await world.store.admin.setPaused(null, true)
    expect(await worker.claim()).toEqual([])
    await world.store.admin.setPaused(null, false)
    expect(keysOf(await worker.claim())).toEqual(['2'])
  })

  specify('all that decides whether a row can run is told', async (world) => {
    await withStates(world)
    await world.store.rows.setDiscoveryPaused('tag-files', true)
    const at = await world.store.rows.rowCircumstances('tag-files', '3')
    expect(at).toMatchObject({
      discovery: 'tag-files',
      key: '3',
      exists: true,
      row: { state: 'claimed' },
      where: 'needs = 1 AND valid = 1',
      now: world.clock.now(),
      suspect: false,
      everythingPaused: false,
      paused: true,
      pausedReason: null,
    })
    expect(at.workers.map(({ worker }) => worker)).toEqual(['worker:test:0'])
    expect(at.createIndex).toContain('CREATE INDEX')
    await world.database.tables.run('UPDATE files SET valid = 0 WHERE id = 4')
    expect(await world.store.rows.rowCircumstances('tag-files', '4')).toMatchObject({
      exists: true,
      row: null,
    })
    expect(await world.store.rows.rowCircumstances('tag-files', '99')).toMatchObject({
      exists: false,
      row: null,
    })
  })

  specify('which discoveries a worker serves is told', async (world) => {
    await withFiles(world, 1)
    const { process } = await world.worker()
    await world.store.sessions.openSession({
      worker: 'worker:rows:0',
      process,
      queues: [],
      names: [],
      capabilities: {},
      discoveries: ['tag-files'],
    })
    const { workers } = await world.store.rows.rowCircumstances('tag-files', '1')
    expect(workers.map(({ discoveries }) => discoveries)).toEqual([[], ['tag-files']])
  })

  specify('whoever waits is told when rows are freed', async (world) => {
    await withFiles(world, 2)
    const told: string[] = []
    world.store.onChange(({ kind }) => told.push(kind))
    const worker = await rowWorker(world)
    const [one, two] = await worker.claim(2)
    await worker.giveBack(one!)
    expect(told).toContain('work')
    told.length = 0
    await worker.fail(two!, null)
    await world.store.rows.retryRow('tag-files', '2')
    expect(told).toContain('work')
    told.length = 0
    await worker.claimAll()
    await worker.end('stop')
    expect(told).toContain('work')
  })

  specify('a sound database is found sound, rows and all', async (world) => {
    await withStates(world)
    expect(await world.store.maintenance.check()).toEqual([])
  })
}

/** One of each, and two that wait. */
async function withStates(world: World): Promise<void> {
  await withFiles(world, 5)
  const worker = await rowWorker(world)
  const [first, second] = await worker.claim(3)
  await worker.fail(first!, null)
  await worker.fail(second!, 60_000)
}

async function list(world: World, state?: RowState): Promise<RowRecord[]> {
  const items: RowRecord[] = []
  let cursor: string | null = null
  for (let page = 0; page < 20; page++) {
    const answer = await world.store.rows.listRows('tag-files', state === undefined ? {} : { state }, {
      limit: 2,
      cursor,
    })
    items.push(...answer.items)
    cursor = answer.next
    if (cursor === null) return items
  }
  throw new Error('the listing does not end')
}
