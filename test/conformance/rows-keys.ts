import { fileSource, keysOf, rowWorker } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

const ODD = [
  '',
  ' ',
  "it's",
  '"q"',
  'a/b/c',
  'ünï ✓ 🎈',
  '%_\\',
  'null',
  '0',
  '-1',
  '["x"]',
  'line\nbreak',
  'a;b--c',
  '01',
]

export const rowsKeys: Theme = (specify, expect) => {
  specify('integers stay exact beyond 2^53', async (world) => {
    const keys = ['-9223372036854775808', '9007199254740993', '9007199254740994', '9223372036854775807']
    await withKeys(
      world,
      'id bigint PRIMARY KEY',
      keys.map((key) => `(${key}, 1)`),
    )
    const worker = await rowWorker(world)
    const claims = [await worker.claimOne(), await worker.claimOne(), ...(await worker.claim(5))]
    expect(keysOf(claims)).toEqual(keys)
    expect(claims[1]!.row.id).toBe(9007199254740993n)
    for (const claim of claims) expect(await worker.complete(claim, { todo: 0 })).toEqual({ kind: 'done' })
    expect(await undone(world)).toBe(0)
  })

  specify('texts may hold anything', async (world) => {
    await withKeys(
      world,
      'id text PRIMARY KEY',
      ODD.map((key) => `(${literal(key)}, 1)`),
    )
    expect(await workedOff(world)).toEqual(ODD.toSorted())
    expect(await undone(world)).toBe(0)
  })

  specify('UUIDs are texts', async (world) => {
    const keys = ['0e0e0e0e-0000-4000-8000-000000000001', 'ffffffff-0000-4000-8000-000000000002']
    await withKeys(
      world,
      'id uuid PRIMARY KEY',
      keys.map((key) => `('${key}', 1)`),
    )
    expect(await workedOff(world)).toEqual(keys)
    expect(await undone(world)).toBe(0)
  })

  specify('several columns are a JSON array, in their own types', async (world) => {
    const rows = ODD.flatMap((text) => [
      `(${literal(text)}, 9007199254740993, 1)`,
      `(${literal(text)}, 2, 1)`,
    ])
    await withKeys(world, 'a text NOT NULL, b bigint NOT NULL, PRIMARY KEY (a, b)', rows, ['a', 'b'])
    const expected = ODD.flatMap((text) => [
      `[${JSON.stringify(text)},9007199254740993]`,
      `[${JSON.stringify(text)},2]`,
    ])
    expect(await workedOff(world)).toEqual(expected.toSorted())
    expect(await undone(world)).toBe(0)
  })

  specify('a key of several columns is asked for by its text', async (world) => {
    await withKeys(
      world,
      'a text NOT NULL, b integer NOT NULL, UNIQUE (a, b)',
      [`('x', 1, 1)`, `('x', 2, 1)`],
      ['a', 'b'],
    )
    expect(await world.store.rows.getRow('tag-files', '["x",2]')).toMatchObject({
      key: '["x",2]',
      state: 'waiting',
    })
    expect(await world.store.rows.getRow('tag-files', '["x",3]')).toBe(null)
    expect(await world.store.rows.findRow('tag-files', '["x",3]')).toBe(null)
    expect(await world.store.rows.findRow('tag-files', 'x')).toBe(null)
    const { items } = await world.store.rows.listRows('tag-files', {}, { limit: 10, cursor: null })
    expect(keysOf(items)).toEqual(['["x",1]', '["x",2]'])
  })

  specify('a row without a key is nobody’s business', async (world) => {
    await withKeys(world, 'a text, UNIQUE (a)', ['(NULL, 1)', `('x', 1)`], ['a'])
    expect(await workedOff(world)).toEqual(['x'])
  })

  specify('a key is asked for that cannot be one', async (world) => {
    await withKeys(world, 'id integer PRIMARY KEY', ['(1, 1)'])
    expect(await world.store.rows.getRow('tag-files', 'one')).toBe(null)
    expect(await world.store.rows.findRow('tag-files', 'one')).toBe(null)
    expect(await world.store.rows.retryRow('tag-files', '')).toBe('gone')
  })
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

async function withKeys(world: World, columns: string, rows: readonly string[], key = ['id']): Promise<void> {
  const { tables } = world.database
  const [first, ...constraints] = columns.split(/, (?=PRIMARY|UNIQUE)/)
  await tables.run(`CREATE TABLE keyed (${[first, 'todo integer NOT NULL', ...constraints].join(', ')})`)
  await tables.run(`INSERT INTO keyed VALUES ${rows.join(', ')}`)
  await world.store.rows.planDiscoveries([
    fileSource(world, { table: tables.named('keyed'), key, where: 'todo = 1' }),
  ])
}

/** Claims and completes them two at a time, and answers their keys, sorted. */
async function workedOff(world: World): Promise<string[]> {
  const worker = await rowWorker(world)
  const keys: string[] = []
  for (let look = 0; look < 100; look++) {
    const claims = await worker.claim(2)
    if (claims.length === 0) return keys.toSorted()
    keys.push(...keysOf(claims))
    for (const claim of claims) {
      const answer = await worker.complete(claim, { todo: 0 })
      if (answer.kind !== 'done') throw new Error(`${claim.id} is ${answer.kind}`)
    }
  }
  throw new Error('it does not end')
}

async function undone(world: World): Promise<number> {
  const [row] = await world.database.tables.rows('SELECT count(*) AS n FROM keyed WHERE todo = 1')
  return Number(row!.n)
}
