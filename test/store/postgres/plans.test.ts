import { expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { explained, nodesOf } from './explained.ts'
import { type Place, test } from './place.ts'

interface Plan {
  'Node Type': string
  'Index Name'?: string
  'Scan Direction'?: string
  'Relation Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Thousands wait, of two names, behind thousands that are finished, scheduled or held. */
async function crowded(place: Place) {
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock })
  const worker = await new Claimant(store, clock, { names: ['a', 'b'] }).begin()
  for (const name of ['a', 'b']) {
    await store.tasks.enqueue(Array.from({ length: 2_000 }, () => newTask({ name, priority: 1 })))
    await store.tasks.enqueue(
      Array.from({ length: 2_000 }, () => newTask({ name, runAfter: { ms: 3_600_000 } })),
    )
    await store.tasks.enqueue(Array.from({ length: 5_000 }, () => newTask({ name })))
  }
  for (const claim of await worker.claim(500)) await worker.complete(claim)
  await worker.claim(1_500)
  await place.rows('ANALYZE gleaner.tasks')
  return { store, worker }
}

/** The plan of the claim as the store asks for it, found among the statements that pass. */
async function planOfClaim(place: Place, lanes: number, queues = ['default']): Promise<Plan[]> {
  const proxy = await place.proxy()
  const store = await place.store({ url: proxy.url })
  const names = ['a', 'b'].slice(0, lanes)
  const worker = await new Claimant(store, new ManualClock(Date.now()), { names, queues }).begin()
  await worker.claim(10)
  const asked = proxy.seen
    .flatMap(({ statements }) => statements)
    .find((text) => text.includes('SKIP LOCKED') && text.includes('NOT suspect'))!
  const select = /WITH next AS MATERIALIZED \((?<select>.*)\), fence AS/s.exec(asked)!.groups!.select!
  const found = await place.rows(
    `SELECT l.id, l.queue, coalesce(q.strategy = 'lifo', false) AS backwards
     FROM gleaner.lanes l LEFT JOIN gleaner.queues q ON q.name = l.queue
     WHERE l.name = ANY($1) AND l.queue = ANY($2) ORDER BY l.id`,
    [names, queues],
  )
  const ids = found.map(({ id }) => id)
  const text = `EXPLAIN (ANALYZE, FORMAT JSON) ${select
    .replaceAll('$10', '10')
    .replaceAll('$1', `ARRAY[${ids}]`)
    .replaceAll('$2', '10')
    .replaceAll('$5', '0')
    .replaceAll('$6', `ARRAY[${ids.map(() => 0)}]`)
    .replaceAll('$7', `ARRAY[${ids.map(() => Number.MAX_SAFE_INTEGER)}]`)
    .replaceAll('$8', `ARRAY[${found.map(({ queue }) => queues.indexOf(queue))}]`)
    .replaceAll('$9', `ARRAY[${found.map(({ backwards }) => backwards)}]`)}`
  const [answer] = await place.rows(text)
  return nodesOf(answer['QUERY PLAN'][0].Plan)
}

test.for([1, 2])(
  'a claim from %i of the lanes walks tasks_ready, and sorts no lane',
  async (lanes, { place }) => {
    await crowded(place)
    const nodes = await planOfClaim(place, lanes)
    const scans = nodes.filter((node) => node['Relation Name'] === 'tasks')
    expect(scans.map((node) => node['Index Name'])).toEqual(['tasks_ready'])
    expect(scans.map((node) => node['Node Type'])).toEqual(['Index Scan'])
    // Per lane it reads what it takes, whatever else is there.
    expect(scans[0]!['Actual Rows']).toBeLessThanOrEqual(10)
    expect(scans[0]!['Rows Removed by Filter'] ?? 0).toBe(0)
    // Only the few that were found are put in order: a batch from each lane.
    for (const sort of nodes.filter((node) => node['Node Type'].includes('Sort'))) {
      expect(
        nodesOf(sort)
          .slice(1)
          .every((node) => node['Actual Rows'] <= 10 * lanes),
      ).toBe(true)
    }
  },
)

test('a claim from queues of different strategies walks the one index, forwards or backwards, and sorts none', async ({
  place,
}) => {
  const { store } = await crowded(place)
  await store.admin.configureQueues([{ name: 'newest', ordering: { strategy: 'lifo', ageingMs: null } }])
  await store.tasks.enqueue(Array.from({ length: 5_000 }, () => newTask({ name: 'a', queue: 'newest' })))
  await place.rows('ANALYZE gleaner.tasks')
  const nodes = await planOfClaim(place, 2, ['default', 'newest'])
  const scans = nodes.filter((node) => node['Relation Name'] === 'tasks')
  expect(scans.map((node) => node['Index Name'])).toEqual(['tasks_ready', 'tasks_ready'])
  expect(scans.map((node) => node['Scan Direction'])).toEqual(['Forward', 'Backward'])
  for (const scan of scans) {
    expect(scan['Actual Rows']).toBeLessThanOrEqual(10)
    expect(scan['Rows Removed by Filter'] ?? 0).toBe(0)
  }
})

test('what is finished, scheduled or held is in no index that a claim walks', async ({ place }) => {
  await crowded(place)
  const [sizes] = await place.rows(
    `SELECT count(*)::int AS all, count(*) FILTER (WHERE status = 'queued' AND fence IS NULL AND NOT suspect)::int AS ready
     FROM gleaner.tasks`,
  )
  const [indexed] = await place.rows(
    `SELECT reltuples::int AS entries FROM pg_class WHERE oid = 'gleaner.tasks_ready'::regclass`,
  )
  expect(sizes.all).toBe(18_000)
  expect(indexed.entries).toBeLessThan(sizes.all * 0.75)
  expect(sizes.ready).toBe(12_000)
})

test('an idle worker looks into indexes only, also before the planner knows what is in the table', async ({
  place,
}) => {
  const clock = new ManualClock(Date.now())
  const store = await place.store({ clock })
  const worker = await new Claimant(store, clock).begin()
  await worker.claim(1)
  await store.tasks.enqueue(Array.from({ length: 5_000 }, () => newTask({ name: 'of others' })))
  // The first has been told of something, and claims; those after it look.
  await worker.claim(1)
  const isLook = (text: string) => text.includes('"entriesBefore"') || text.includes('AS ready')
  const plans = await explained(isLook, async () => expect(await worker.claim(1)).toEqual([]))
  expect(plans.length).toBeGreaterThan(1)
  const scans = plans.flatMap(nodesOf).filter((node) => node['Relation Name'] === 'tasks')
  expect(scans.length).toBeGreaterThan(2)
  expect(scans.map((node) => node['Node Type']).filter((type) => type === 'Seq Scan')).toEqual([])
})
