import { expect } from 'vitest'
import { migrations } from '../../../src/store/postgres/migrations/index.ts'
import { migrate } from '../../../src/store/postgres/migrations/migrate.ts'
import { Database } from '../../../src/store/postgres/server/database.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { idsOf, newTask } from '../../conformance/world.ts'
import { explained, nodesOf } from './explained.ts'
import { type Place, test } from './place.ts'

const NAMES = Array.from({ length: 30 }, (_, n) => `name-${n}`)

test('processes that make lanes of one queue at the same time agree on its line', async ({ place }) => {
  const stores = await Promise.all(Array.from({ length: 6 }, () => place.store()))
  await Promise.all(
    stores.flatMap((store, n) =>
      NAMES.map((_, i) => store.tasks.enqueue([newTask({ name: NAMES[(i + n * 7) % NAMES.length]! })])),
    ),
  )
  const lanes = await place.rows('SELECT id, line FROM gleaner.lanes ORDER BY id')
  expect(lanes).toHaveLength(NAMES.length)
  expect(new Set(lanes.slice(-15).map(({ line }) => line)).size).toBe(1)
  expect(new Set(lanes.map(({ line }) => line)).size).toBe(2)
  expect(await stores[0]!.maintenance.check()).toEqual([])
  const worker = await new Claimant(stores[1]!, new ManualClock(), { names: NAMES }).begin()
  expect(await worker.claim(NAMES.length * 6)).toHaveLength(NAMES.length * 6)
})

test('tasks that wait in many lanes when the database is migrated stand in a line, in order', async ({
  place,
}) => {
  await migrateBefore(place)
  await place.rows(`INSERT INTO gleaner.lanes (queue, name, requires)
    SELECT 'default', 'name-' || n, '' FROM generate_series(0, 29) n`)
  await place.rows(`INSERT INTO gleaner.tasks (lane, status, in_line, delayed, priority, rank, max_attempts, created_at)
    SELECT id, 'queued', true, false, 100, 1000 - id, 1, 0 FROM gleaner.lanes`)
  await place.rows('UPDATE gleaner.lanes SET created = 1')
  const store = await place.store()
  expect(await store.maintenance.check()).toEqual([])
  const lines = await place.rows(
    'SELECT line IS NULL AS own, count(*)::int AS n FROM gleaner.tasks GROUP BY 1 ORDER BY 1',
  )
  expect(lines).toEqual([
    { own: false, n: 22 },
    { own: true, n: 8 },
  ])
  await store.tasks.enqueue([newTask({ name: 'name-12', priority: 1 }), newTask({ name: 'another' })])
  const worker = await new Claimant(store, new ManualClock(), { names: [...NAMES, 'another'] }).begin()
  const order = idsOf(await worker.claim(100))
  expect(order).toEqual([...Array.from({ length: 30 }, (_, n) => String(30 - n)), '31', '32'])
})

test('a claim reads a line at once, whatever the number of names', async ({ place }) => {
  const names = Array.from({ length: 400 }, (_, n) => `name-${n}`)
  const store = await place.store()
  await store.tasks.enqueue(names.map((name) => newTask({ name })))
  await place.rows('ANALYZE gleaner.tasks')
  const worker = await new Claimant(store, new ManualClock(), { names }).begin()
  await worker.completeAll(await worker.claim(2))
  const isClaim = (text: string) => text.includes('SKIP LOCKED') && text.includes('NOT suspect')
  const plans = await explained(isClaim, async () => expect(await worker.claim(10)).toHaveLength(10))
  const nodes = plans.flatMap(nodesOf)
  const walks = nodes.filter((node) => /tasks_(ready|line)/.test(node['Index Name'] ?? ''))
  expect(walks.map((node) => node['Index Name'])).toContain('tasks_line')
  expect(walks.reduce((sum, node) => sum + node['Actual Loops'], 0)).toBeLessThan(20)
})

async function migrateBefore(place: Place): Promise<void> {
  const { version } = migrations.find(({ name }) => name === 'lines')!
  const database = new Database({ url: place.url, schema: place.schema, poolSize: 2 })
  await migrate(
    database,
    migrations.filter((one) => one.version < version),
  )
  await database.close()
}
