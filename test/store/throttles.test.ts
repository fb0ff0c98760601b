import { expect, test } from 'vitest'
import type { Store } from '../../src/store/ports/store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { newTask } from '../conformance/world.ts'
import { testMigrated as onPostgres } from './postgres/place.ts'
import { connect, freshPath, openStore } from './sqlite/folder.ts'

const KEYS = 30

/** Thirty keys rest; when that is over, others come one by one. */
async function expectPruned(store: Store, clock: ManualClock, kept: () => Promise<number>): Promise<void> {
  const tasks = (name: string) =>
    Array.from({ length: KEYS }, (_, i) =>
      newTask({ key: `${name}${i}`, whenHeld: { kind: 'throttle', ms: 1_000 } }),
    )
  await store.tasks.enqueue(tasks('old'))
  expect(await kept()).toBe(KEYS)
  clock.advance(1_000)
  for (const task of tasks('new')) await store.tasks.enqueue([task])
  expect(await kept()).toBe(KEYS)
}

test('keys that rest no more leave nothing behind, on SQLite', async () => {
  const path = freshPath()
  const clock = new ManualClock()
  const store = await openStore(path, { clock })
  const count = connect(path).prepare('SELECT count(*) FROM gleaner_throttles').pluck()
  await expectPruned(store, clock, async () => count.get() as number)
})

onPostgres('keys that rest no more leave nothing behind, on PostgreSQL', async ({ place }) => {
  const clock = new ManualClock()
  const store = await place.store({ clock })
  const count = async () => (await place.rows('SELECT count(*)::int AS n FROM gleaner.throttles'))[0].n
  await expectPruned(store, clock, count)
})
