import type { Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { insideOf } from '../../src/engine/inside.ts'
import { defineDiscovery, defineTask } from '../../src/index.ts'
import { openServer, type TestServer } from '../http/server.ts'
import { MANY_TASKS, openLanes } from '../store/many-tasks.ts'
import type { Ground } from '../torture/ground/ground.ts'

const job = defineTask({ name: 'job', run: async () => {} })
const tag = defineDiscovery({
  name: 'tag-files',
  table: 'files',
  key: 'id',
  where: 'tagged = 0',
  run: async () => {},
  done: () => ({ tagged: 1 }),
})

/** A server with that many tasks, and as many rows that wait. */
export async function openMany(ground: Ground, database: string, count: number): Promise<TestServer> {
  onTestFinished(() => ground.clear())
  await ground.rows('CREATE TABLE files (id bigint PRIMARY KEY, path text NOT NULL, tagged integer NOT NULL)')
  await ground.rows('CREATE INDEX files_to_tag ON files (id) WHERE tagged = 0')
  await ground.rows(
    database === 'SQLite'
      ? `INSERT INTO files WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${count})
         SELECT id, 'file-' || id, 0 FROM n`
      : `INSERT INTO files SELECT id, 'file-' || id, 0 FROM generate_series(1, ${count}) n(id)`,
  )
  const server = await openServer({}, { database: ground.database, tasks: [job], discoveries: [tag] })
  await openLanes(insideOf(server.gleaner).store)
  for (const sql of [...MANY_TASKS[database]!(count), ...COUNTED[database]!]) await ground.rows(sql)
  // What so much at once leaves to be tidied up is not what a page costs.
  await server.gleaner.maintenance.optimize()
  await server.gleaner.maintenance.checkpoint()
  return server
}

const OF_LANE = ['scheduled', 'completed', 'failed', 'cancelled'].map(
  (status) =>
    `${status} = (SELECT count(*) FROM gleaner.tasks WHERE lane = gleaner.lanes.id AND status = '${status}')`,
)
const COUNT_LANES = `UPDATE gleaner.lanes SET ${OF_LANE.join(', ')},
  created = (SELECT count(*) FROM gleaner.tasks WHERE lane = gleaner.lanes.id)`

/** As if the engine had inserted them, which counts as it goes. */
const COUNTED: Record<string, string[]> = {
  SQLite: [
    COUNT_LANES,
    `UPDATE gleaner.meta SET value = (SELECT max(id) FROM gleaner.tasks) WHERE key = 'counted_through'`,
  ],
  PostgreSQL: ['DELETE FROM gleaner.tallies', COUNT_LANES, 'ANALYZE files'],
}

/** Every page, and what shows that it can be worked with. */
export const LARGE_PAGES: readonly [path: string, shows: (page: Page) => ReturnType<Page['getByText']>][] = [
  ['/', (page) => page.getByText('Duration of attempts')],
  ['/?range=week', (page) => page.getByText('Duration of attempts')],
  ['/tasks', (page) => page.getByRole('row', { name: /(job|other) \d+/ }).nth(20)],
  ['/tasks?status=failed&error=luck', (page) => page.getByRole('row', { name: /no luck/ }).nth(20)],
  ['/queues', (page) => page.getByRole('region', { name: 'default', exact: true })],
  ['/discoveries', (page) => page.getByText('waiting')],
  ['/discoveries/tag-files', (page) => page.getByRole('row', { name: /waiting/ }).nth(20)],
  ['/workers', (page) => page.getByText('No live worker')],
  ['/system', (page) => page.getByText('Late writes refused')],
]

/** How long it takes until it is there, the fastest of some times: what disturbs the machine is not what it costs. */
export async function fastestMs(
  limitMs: number,
  rounds: number,
  work: () => Promise<unknown>,
): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && fastest >= limitMs; round++) {
    const since = performance.now()
    await work()
    fastest = Math.min(fastest, performance.now() - since)
  }
  return fastest
}

/** Bytes of answers that a page asked for: they do not grow with what there is. */
export function answersOf(page: Page): () => Promise<number> {
  const sizes: Promise<number>[] = []
  page.on('response', (response) => {
    if (!response.url().includes('/api/v1/') || response.url().includes('/events')) return
    expect(response.status(), response.url()).toBe(200)
    sizes.push(
      response.body().then(
        (body) => body.length,
        () => 0,
      ),
    )
  })
  return async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
