import { expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { Draws, seeded } from '../../conformance/draws.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

async function weightedQueue(place: Place) {
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock, random: seeded(7) })
  await store.admin.configureQueues([{ name: 'default', ordering: { strategy: 'weighted', ageingMs: null } }])
  return { clock, store, worker: await new Claimant(store, clock).begin() }
}

test('5 000 draws, half of them among late comers, come as 1 / priority says', async ({ place }) => {
  const { store, worker } = await weightedQueue(place)
  const priorities = [1, 3, 10, 100]
  const draws = new Draws(priorities)
  const priorityOf = new Map<string, number>()
  const enqueue = async (some: readonly number[]) => {
    const answers = await store.tasks.enqueue(some.map((priority) => newTask({ priority })))
    for (const [i, { id }] of answers.entries()) {
      priorityOf.set(id, some[i]!)
      draws.join(some[i]!)
    }
  }
  await enqueue(priorities.flatMap((priority) => Array.from({ length: 500 }, () => priority)))
  while (draws.count < 5_000) {
    const claims = await worker.claim(100)
    const drawn = claims.map(({ id }) => priorityOf.get(id)!)
    for (const priority of drawn) draws.drew(priority)
    await worker.completeAll(claims)
    await enqueue(drawn.filter((_, i) => i % 2 === 0))
    if (draws.count % 1_000 === 0)
      await enqueue(priorities.flatMap((p) => Array.from({ length: 125 }, () => p)))
  }
  expect(draws.chiSquare).toBeLessThan(draws.limit)
})

test('who claims from a weighted queue waits for nobody else who does', async ({ place }) => {
  const { clock, store, worker } = await weightedQueue(place)
  const other = await new Claimant(store, clock).begin()
  await store.tasks.enqueue(Array.from({ length: 10 }, () => newTask()))
  await worker.claim(1)
  await other.claim(1)
  await place.rows('BEGIN')
  await place.rows('SELECT * FROM gleaner.races WHERE session IN ($1, 0) FOR UPDATE', [worker.session])
  expect(await other.claim(1)).toHaveLength(1)
  await store.tasks.enqueue([newTask()])
  await place.rows('ROLLBACK')
})

test('how far a race has come outlives those who took part in it', async ({ place }) => {
  const { store, worker } = await weightedQueue(place)
  await store.tasks.enqueue(Array.from({ length: 10 }, () => newTask()))
  await worker.completeAll(await worker.claim(5))
  const moments = () =>
    place.rows('SELECT max(moment)::text AS moment, count(*)::int AS rows FROM gleaner.races')
  const [before] = await moments()
  expect(Number(before.moment)).toBeGreaterThan(0)
  await worker.end('stop')
  await worker.begin()
  await worker.completeAll(await worker.claim(1))
  await worker.end('crash')
  const [after] = await moments()
  expect(Number(after.moment)).toBeGreaterThan(Number(before.moment))
  expect(after.rows).toBe(1)
})
