import { expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

async function busy(place: Place, tasks: number) {
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock })
  await store.tasks.enqueue(Array.from({ length: tasks }, () => newTask()))
  const worker = await new Claimant(store, clock).begin()
  return { store, clock, worker }
}

test('the row of a batch goes when all of it is settled, however it ended', async ({ place }) => {
  const { worker } = await busy(place, 60)
  for (let n = 0; n < 10; n++) {
    const [a, b, c, d, e, f] = await worker.claim(6)
    await worker.completeAll([a!, b!])
    await worker.fail(c!)
    await worker.fail(d!, 60_000)
    await worker.completeWith(e!, () => {})
    await worker.giveBack(f!)
  }
  expect(await place.rows('SELECT fence FROM gleaner.batches')).toEqual([])
})

test('who hands in the last of a batch removes its row in the same exchange', async ({ place }) => {
  const { worker } = await busy(place, 4)
  const [a, b, c, d] = await worker.claim(4)
  const outcome = { kind: 'completed', result: null } as const
  const done = ({ id, fence }: typeof a & {}) => ({ id, fence, startedAt: 1, outcome })
  const left = async () => (await place.rows('SELECT fence FROM gleaner.batches')).length
  // Twice the same one, and one that nobody claimed so: two are still held, and then one.
  await worker.exchange({ outcomes: [done(a!), done(b!), done(b!), { ...done(c!), fence: 0 }] })
  expect(await left()).toBe(1)
  await worker.exchange({ outcomes: [done(b!), done(c!)] })
  expect(await left()).toBe(1)
  await worker.exchange({ outcomes: [done(d!)] })
  expect(await left()).toBe(0)
})

test('a completion stays on its page and touches no index', async ({ place }) => {
  const { store, worker } = await busy(place, 0)
  const updates = async () => {
    // What a connection has counted it tells with its next statement, or after ten seconds.
    expect(await worker.claim(1)).toEqual([])
    const [row] = await place.rows(
      `SELECT n_tup_upd::int AS updates, n_tup_hot_upd::int AS hot FROM pg_stat_all_tables
       WHERE relid = 'gleaner.tasks'::regclass`,
    )
    return row as { updates: number; hot: number }
  }
  let counted = 0
  const counting = async () => {
    counted += 300
    await place.until('they are counted', async () => (await updates()).updates >= counted)
    return (await updates()).hot
  }
  // Whoever reads for long elsewhere keeps old versions from being tidied away; then there is no room, and it is tried again.
  await place.until('most of them stay', async () => {
    await store.tasks.enqueue(Array.from({ length: 300 }, () => newTask()))
    const claims = await worker.claim(300)
    const before = await counting()
    await worker.completeAll(claims)
    // Some pages have no room left: those that were claimed in the same transaction cannot be tidied within it.
    return (await counting()) - before > 200
  })
})

test('the last to finish come first, page by page, within a row and beyond it', async ({ place }) => {
  const { store, clock, worker } = await busy(place, 2_000)
  const ended: string[] = []
  for (let n = 0; n < 100; n++) {
    const claims = await worker.claim(20)
    clock.advance(1)
    await worker.completeAll(claims)
    ended.unshift(...claims.map(({ id }) => id).reverse())
  }
  const seen: string[] = []
  let cursor: string | null = null
  for (let n = 0; n < 3; n++) {
    const page = await store.tasks.listTasks({ status: 'completed' }, { limit: 30, cursor })
    seen.push(...page.items.map(({ id }) => id))
    cursor = page.next
  }
  expect(seen).toEqual(ended.slice(0, 90))
})

test('a task that was retried is listed once when it has ended again', async ({ place }) => {
  const { store, worker } = await busy(place, 3)
  const claims = await worker.claim(3)
  await worker.completeAll(claims)
  expect(await store.tasks.retryTask(claims[1]!.id)).toBe('retried')
  await worker.completeAll(await worker.claim(1))
  const { items } = await store.tasks.listTasks({ status: 'completed' }, { limit: 10, cursor: null })
  expect(items.map(({ id }) => id)).toEqual(claims.map(({ id }) => id).reverse())
  expect(await store.tasks.removeTask(claims[2]!.id)).toBe('removed')
  expect(await place.rows('SELECT unnest(tasks)::text AS id FROM gleaner.finished ORDER BY 1')).toEqual(
    claims.slice(0, 2).map(({ id }) => ({ id })),
  )
})

test('hundreds that were never started go back in one statement, each to its place', async ({ place }) => {
  const proxy = await place.proxy()
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock, url: proxy.url })
  await store.tasks.enqueue(Array.from({ length: 300 }, (_, n) => newTask({ priority: (n % 7) + 1 })))
  const worker = await new Claimant(store, clock).begin()
  const { claims } = await worker.take(0, 300)
  const before = proxy.seen.flatMap(({ statements }) => statements).length
  const outcome = { kind: 'returned' } as const
  const outcomes = claims.map(({ id, fence }) => ({ id, fence, startedAt: 0, outcome }))
  const twice = [...outcomes, outcomes[0]!, { ...outcomes[1]!, fence: 0 }]
  expect(await worker.exchange({ outcomes: twice })).toMatchObject({
    refused: [claims[0]!.id, claims[1]!.id],
  })
  expect(proxy.seen.flatMap(({ statements }) => statements).length - before).toBeLessThan(10)
  const again = await worker.claim(300)
  expect(again.map(({ id }) => id)).toEqual(claims.map(({ id }) => id))
  expect(again.every(({ attempt }) => attempt === 1)).toBe(true)
})
