import type { DiscoverySource } from '../../src/store/ports/rows.ts'
import { FILES, fileSource, keysOf, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'

/** What cannot be, and what the error must say. */
const IMPOSSIBLE: Record<string, [some: Partial<DiscoverySource>, ...said: string[]]> = {
  'a column of the key that is not there': [{ key: ['uid'] }, 'uid', 'path, needs, valid'],
  'a version column that is not there': [{ version: 'changed_at' }, 'changed_at', 'path, needs, valid'],
  'an order by a column that is not there': [{ orderBy: 'prio DESC' }, 'prio', 'path, needs, valid'],
  'an order that is no list of columns': [{ orderBy: 'random()' }, 'random()'],
  'an empty condition': [{ where: ' ' }, 'empty'],
  'a column in the condition that is not there': [
    { where: 'needs_tagging = 1' },
    'needs_tagging',
    'path, needs, valid',
  ],
  'a condition that does not parse': [{ where: 'needs = = 1' }, 'where'],
  'a second statement': [{ where: 'needs = 1; DELETE FROM files' }, 'second statement'],
  'a condition that leaves its brackets': [{ where: 'needs = 1) OR (1 = 1' }, 'bracket'],
  'a bracket that is not closed': [{ where: '(needs = 1' }, 'bracket'],
  'a parameter': [{ where: 'needs = ?' }, 'parameter'],
  'a condition that writes': [{ where: 'DELETE FROM files' }, 'where'],
  'a key that is not unique': [{ key: ['path'] }, 'unique', 'path'],
}

export const rowsPlanning: Theme = (specify, expect) => {
  for (const [what, [some, ...said]] of Object.entries(IMPOSSIBLE)) {
    specify(`${what} is refused, with the real columns where that helps`, async (world) => {
      await world.database.tables.run(FILES)
      const error = await failureOf(world.store.rows.planDiscoveries([fileSource(world, some)]))
      expect(error).toMatchObject({ name: 'InputError', code: 'BAD_DISCOVERY' })
      for (const words of said) expect((error as Error).message).toContain(words)
      expect((error as Error).message).toContain('tag-files')
      expect(await world.store.rows.listDiscoveries()).toEqual([])
    })
  }

  specify('a key of several columns of which one may be NULL is refused', async (world) => {
    const { tables } = world.database
    await tables.run(
      'CREATE TABLE files (a text NOT NULL, b integer, needs integer, valid integer, UNIQUE (a, b))',
    )
    const source = fileSource(world, { key: ['a', 'b'] })
    const error = await failureOf(world.store.rows.planDiscoveries([source]))
    expect(error).toMatchObject({ name: 'InputError', code: 'BAD_DISCOVERY' })
    expect((error as Error).message).toContain('key: b of')
    expect((error as Error).message).toContain('NOT NULL')
    expect(await world.store.rows.listDiscoveries()).toEqual([])
    await tables.run('DROP TABLE files')
    await tables.run(
      'CREATE TABLE files (a text, b integer, needs integer, valid integer, PRIMARY KEY (a, b))',
    )
    expect(await world.store.rows.planDiscoveries([source])).toHaveLength(1)
  })

  specify('a table that is not there is refused', async (world) => {
    const { tables } = world.database
    const error = await failureOf(world.store.rows.planDiscoveries([fileSource(world)]))
    expect(error).toMatchObject({ code: 'BAD_DISCOVERY' })
    expect((error as Error).message).toContain(tables.named('files'))
  })

  specify('a view is refused', async (world) => {
    const { tables } = world.database
    await tables.run(FILES)
    await tables.run('CREATE VIEW pictures AS SELECT * FROM files')
    const error = await failureOf(
      world.store.rows.planDiscoveries([fileSource(world, { table: tables.named('pictures') })]),
    )
    expect(error).toMatchObject({ code: 'BAD_DISCOVERY' })
    expect((error as Error).message).toContain('view')
  })

  specify('a table of another database is refused', async (world) => {
    await world.database.tables.run(FILES)
    const error = await failureOf(
      world.store.rows.planDiscoveries([fileSource(world, { table: 'elsewhere.public.files' })]),
    )
    expect(error).toMatchObject({ code: 'BAD_DISCOVERY' })
  })

  specify('of several none is planned when one is refused', async (world) => {
    await world.database.tables.run(FILES)
    const sources = [fileSource(world), fileSource(world, { name: 'other', where: 'nothing = 1' })]
    expect(await failureOf(world.store.rows.planDiscoveries(sources))).toMatchObject({
      code: 'BAD_DISCOVERY',
    })
    expect(await world.store.rows.listDiscoveries()).toEqual([])
  })

  specify('what was planned is known to every store, as it was last declared', async (world) => {
    await withFiles(world, 3)
    const other = await world.database.open()
    const [planned] = await other.rows.planDiscoveries([fileSource(world, { where: 'needs = 1 AND id > 1' })])
    expect(planned?.columns).toEqual(['id', 'path', 'needs', 'valid', 'bpm', 'edited'])
    expect(await world.store.rows.listDiscoveries()).toMatchObject([
      { name: 'tag-files', where: 'needs = 1 AND id > 1', paused: false, maxAttempts: 3 },
    ])
    expect(keysOf(await (await rowWorker(world)).claimAll())).toEqual(['2', '3'])
  })

  specify('what is planned anew holds at once for who works already', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    expect(keysOf([await worker.claimOne()])).toEqual(['1'])
    const other = await world.database.open()
    await other.rows.planDiscoveries([fileSource(world, { where: 'needs = 1 AND id > 2' })])
    expect(keysOf(await worker.claimAll())).toEqual(['3'])
  })

  specify('a condition may hold what SQL holds', async (world) => {
    const where = `(path LIKE 'f%' /* ; ( */ OR path = 'a''b;"(') AND needs = 1 -- and so on`
    await withFiles(world, 2, { where })
    expect(keysOf(await (await rowWorker(world)).claimAll())).toEqual(['1', '2'])
  })

  specify('names may be odd', async (world) => {
    const { tables } = world.database
    await tables.run(
      'CREATE TABLE "my files" ("the id" integer PRIMARY KEY, "a""b" integer, "select" integer)',
    )
    await tables.run('INSERT INTO "my files" VALUES (1, 1, 0), (2, 1, 0)')
    const table = tables.named('files').replace('files', 'my files')
    const odd = { table, key: ['the id'], where: '"a""b" = 1', version: 'select', orderBy: '"select" DESC' }
    await world.store.rows.planDiscoveries([fileSource(world, odd)])
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    expect(claim.row).toEqual({ 'the id': 1, 'a"b': 1, select: 0 })
    expect(await worker.complete(claim, { 'a"b': 0 })).toEqual({ kind: 'done' })
  })

  specify('the index that is missing is told, and serves when it is there', async (world) => {
    await withFiles(world, 3)
    const [before] = await world.store.rows.planDiscoveries([fileSource(world)])
    expect(before?.createIndex).toContain('CREATE INDEX')
    expect((await world.store.rows.listDiscoveries())[0]?.createIndex).toBe(before?.createIndex)
    await world.database.tables.run(before!.createIndex!)
    const [after] = await world.store.rows.planDiscoveries([fileSource(world)])
    expect(after?.createIndex).toBe(null)
    expect(keysOf(await (await rowWorker(world)).claimAll())).toEqual(['1', '2', '3'])
  })

  specify('a column for versions is offered, and counts each edit', async (world) => {
    const { tables } = world.database
    await withFiles(world, 2)
    const [planned] = await world.store.rows.planDiscoveries([fileSource(world)])
    await tables.run(planned!.versionTrigger!)
    const versioned = fileSource(world, { version: 'row_version' })
    expect((await world.store.rows.planDiscoveries([versioned]))[0]?.versionTrigger).toBe(null)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await tables.run(`UPDATE files SET path = 'x' WHERE id = 1`)
    await tables.run(`UPDATE files SET path = 'f1' WHERE id = 1`)
    expect(await worker.complete(claim)).toMatchObject({ kind: 'changed' })
    expect(await worker.complete(await worker.claimOne())).toEqual({ kind: 'done' })
  })

  specify('a discovery whose table goes is paused, and the others go on', async (world) => {
    const { tables } = world.database
    await withFiles(world, 2)
    await tables.run('CREATE TABLE doomed (id integer PRIMARY KEY, needs integer, valid integer)')
    await tables.run('INSERT INTO doomed VALUES (1, 1, 1), (2, 1, 1)')
    await world.store.rows.planDiscoveries([
      fileSource(world, { name: 'doomed', table: tables.named('doomed') }),
    ])
    const worker = await rowWorker(world, { discoveries: ['doomed', 'tag-files'] })
    const claim = await worker.claimOne()
    expect(claim.discovery).toBe('doomed')
    await tables.run('DROP TABLE doomed')
    expect(keysOf(await worker.claimAll())).toEqual(['1', '2'])
    expect(await world.store.rows.listDiscoveries()).toMatchObject([
      { name: 'doomed', paused: true },
      { paused: false },
    ])
    expect((await worker.end('stop')).returned).toBe(3)
  })

  specify('a discovery whose condition fails on some row is paused, and the others go on', async (world) => {
    await withFiles(world, 3)
    const { tables } = world.database
    const where = 'needs = 1 AND abs(-9223372036854775807 - edited) > 0'
    await world.store.rows.planDiscoveries([fileSource(world, { name: 'failing', where })])
    const worker = await rowWorker(world, { discoveries: ['failing', 'tag-files'] })
    const claim = await worker.claimOne()
    expect(claim.discovery).toBe('failing')
    await tables.run('UPDATE files SET edited = 1')
    expect(await worker.complete(claim)).toMatchObject({ kind: 'paused' })
    expect((await world.store.rows.listDiscoveries())[0]).toMatchObject({ name: 'failing', paused: true })
    await world.store.rows.setDiscoveryPaused('failing', false)
    expect(keysOf(await worker.claimAll())).toEqual(['1', '2', '3'])
    expect((await world.store.rows.listDiscoveries())[0]).toMatchObject({ name: 'failing', paused: true })
  })

  specify('a column that comes later is part of the row', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.giveBack(await worker.claimOne())
    await world.database.tables.run(`ALTER TABLE files ADD COLUMN genre text`)
    const claim = await worker.claimOne()
    expect(claim.row).toMatchObject({ genre: null })
    expect(await worker.complete(claim, { needs: 0, genre: 'dub' })).toEqual({ kind: 'done' })
  })

  specify('a discovery that nobody planned is an error', async (world) => {
    const unknown = { code: 'UNKNOWN_DISCOVERY' }
    await expect(world.store.rows.countRows('nobody')).rejects.toMatchObject(unknown)
    await expect(world.store.rows.retryRow('nobody', '1')).rejects.toMatchObject(unknown)
    await expect(world.store.rows.setDiscoveryPaused('nobody', true)).rejects.toMatchObject(unknown)
  })
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error) => error,
  )
}
