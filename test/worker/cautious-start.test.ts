import { expect, onTestFinished, test } from 'vitest'
import { CautiousStart } from '../../src/worker/isolation/cautious-start.ts'
import { RowsSource } from '../../src/worker/sources/rows.ts'
import { rowWorker, withFiles } from '../conformance/row-worker.ts'
import { World } from '../conformance/world.ts'
import { openSqliteDatabase } from '../store/sqlite-database.ts'

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/** So many rows, each of which a worker has crashed on. */
async function withSuspects(count: number) {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  await withFiles(world, count)
  const worker = await rowWorker(world)
  for (let n = 0; n < count; n++) {
    const avoid = Array.from({ length: n }, (_, before) => `tag-files/${before + 1}`)
    const want = { discoveries: ['tag-files'], start: 1, ahead: 0, empty: true, avoid }
    await worker.exchange({ want })
    await worker.end('crash')
    await worker.begin()
  }
  const sourceWith = (cautiousStart: CautiousStart) => {
    const source = new RowsSource(world.store.rows, new Map([['tag-files', {} as never]]), cautiousStart)
    const asked = async (empty: boolean) => {
      const want = { start: 4, ahead: 9, empty, without: [] }
      const taken = await source.exchange({ ...NOTHING, session: worker.session, want })
      return taken.claims.map(({ id }) => id)
    }
    return { source, asked }
  }
  return sourceWith
}

test('a worker whose last life ended on a row begins with another one', async () => {
  const sourceWith = await withSuspects(2)
  const { asked } = sourceWith(new CautiousStart(['tag-files/1']))
  expect(await asked(true)).toEqual(['tag-files/2'])
  // Alone, until it has ended.
  expect(await asked(false)).toEqual([])
})

test('if there is nothing else it is the same row again, but not before suspects were asked for', async () => {
  const sourceWith = await withSuspects(1)
  const { asked } = sourceWith(new CautiousStart(['tag-files/1']))
  expect(await asked(false)).toEqual([])
  expect(await asked(true)).toEqual(['tag-files/1'])
})

test('that there is another one shows only when suspects are asked for', async () => {
  const sourceWith = await withSuspects(2)
  const { asked } = sourceWith(new CautiousStart(['tag-files/1']))
  expect(await asked(false)).toEqual([])
  expect(await asked(true)).toEqual(['tag-files/2'])
})

test('nor before the worker has asked for tasks, too', async () => {
  const sourceWith = await withSuspects(1)
  const cautiousStart = new CautiousStart(['tag-files/1'], 2)
  const { asked } = sourceWith(cautiousStart)
  expect(await asked(true)).toEqual([])
  expect(cautiousStart.isOverWithout({ name: 'tasks' })).toBe(true)
  expect(await asked(true)).toEqual(['tag-files/1'])
})
