import { expect, test } from 'vitest'
import { OWN_LINES_MAX } from '../../../src/store/lane.ts'
import type { NewTask } from '../../../src/store/ports/new-task.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { migrations } from '../../../src/store/sqlite/migrations/index.ts'
import { migrate } from '../../../src/store/sqlite/migrations/migrate.ts'
import { openSqliteStoreOn } from '../../../src/store/sqlite/store.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant, type ClaimantOptions } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { connect, freshPath, openStore } from './folder.ts'

const MANY = 2_000
/** A claim of ten tasks takes about half of it, whatever there is. */
const STATEMENTS_MAX = 40

/** Counts the statements that a store executes, and the rows they answer. */
class Counting {
  statements = 0
  rows = 0

  constructor({ statements }: Connection) {
    for (const kind of ['sql', 'scalar'] as const) {
      const prepare = statements[kind].bind(statements)
      statements[kind] = (text) => {
        this.statements += 1
        const statement = prepare(text)
        const all = (...values: unknown[]) => {
          const rows = statement.all(...values)
          this.rows += rows.length
          return rows
        }
        const { run, get } = statement
        return { ...statement, run: run.bind(statement), get: get.bind(statement), all } as typeof statement
      }
    }
  }

  async of(action: () => Promise<unknown>): Promise<{ statements: number; rows: number }> {
    this.statements = 0
    this.rows = 0
    await action()
    return { statements: this.statements, rows: this.rows }
  }
}

async function scene() {
  const clock = new ManualClock()
  const connection = new Connection(':memory:')
  const counting = new Counting(connection)
  const store = await openSqliteStoreOn(connection, { path: ':memory:', clock })
  const worker = (options: ClaimantOptions) => new Claimant(store, clock, options).begin()
  return { store, counting, worker }
}

async function oneForEach(store: Store, task: (n: number) => Partial<NewTask>): Promise<void> {
  await store.tasks.enqueue(Array.from({ length: MANY }, (_, n) => newTask(task(n))))
}

const named = (words: string) => Array.from({ length: MANY }, (_, n) => `${words}-${n}`)

test.each<[string, (n: number) => Partial<NewTask>, ClaimantOptions]>([
  ['names', (n) => ({ name: `name-${n}` }), { names: named('name') }],
  [
    'names, one of which the worker has no code for',
    (n) => ({ name: `name-${n}` }),
    { names: named('name').slice(0, -1) },
  ],
  ['queues', (n) => ({ queue: `queue-${n}` }), { queues: named('queue') }],
  ['limit keys', (n) => ({ limitKey: `key-${n}` }), {}],
])(
  'a claim over thousands of %s takes a bounded number of statements, and so does a look',
  async (_, task, able) => {
    const { store, counting, worker } = await scene()
    await store.admin.planLimits([{ task: 'job', limit: { concurrency: 5, rate: null } }])
    await oneForEach(store, task)
    const claimant = await worker(able)
    await claimant.claim(1)
    const claim = await counting.of(async () => expect(await claimant.claim(10)).toHaveLength(10))
    expect(claim.statements).toBeLessThan(STATEMENTS_MAX)
    expect(claim.rows).toBeLessThan(200)
    const none = await worker({ ...able, names: ['unknown'] })
    const look = await counting.of(async () => expect(await none.claim(10)).toEqual([]))
    expect(look.statements).toBeLessThan(STATEMENTS_MAX)
  },
)

test.each(['claimed', 'cancelled'])(
  'a task behind thousands of limit keys whose tasks were all %s is found by the next claim',
  async (how) => {
    const { store, worker } = await scene()
    await store.admin.planLimits([{ task: 'job', limit: { concurrency: 5, rate: null } }])
    await oneForEach(store, (n) => ({ limitKey: `key-${n}` }))
    const [last] = await store.tasks.enqueue([newTask({ limitKey: `key-${MANY - 1}` })])
    const claimant = await worker({})
    if (how === 'claimed') expect(await claimant.claim(MANY)).toHaveLength(MANY)
    else for (let id = 1; id <= MANY; id++) await store.tasks.cancelTask(String(id))
    expect(await claimant.claim(5)).toMatchObject([{ id: last!.id }])
    expect(await store.maintenance.check()).toEqual([])
  },
)

test('what thousands of names have finished is counted in a bounded number of statements', async () => {
  const { store, counting, worker } = await scene()
  await oneForEach(store, (n) => ({ name: `name-${n}` }))
  const claimant = await worker({ names: named('name') })
  const outcomes = (await claimant.claim(500)).map(({ id, fence }) => ({
    id,
    fence,
    startedAt: 0,
    outcome: { kind: 'completed', result: null } as const,
  }))
  const { statements } = await counting.of(() => claimant.exchange({ outcomes }))
  expect(statements).toBeLessThan(STATEMENTS_MAX)
  expect(await store.maintenance.check()).toEqual([])
})

test('a database of thousands of names that an older version left is claimed from in order', async () => {
  const path = freshPath()
  const connection = new Connection(path)
  await connection.configure()
  await migrate(
    connection,
    Date.now,
    migrations.filter(({ version }) => version < 23),
  )
  connection.raw.exec(`INSERT INTO gleaner_lanes (queue, name, requires, created)
      SELECT 'default', 'name-' || key, '', 1 FROM json_each('[${Array(30).fill(0).join()}]');
    INSERT INTO gleaner_lanes (queue, name, requires, limit_key) VALUES ('other', 'name-0', '', 'tenant');
    INSERT INTO gleaner_tasks (lane, status, priority, rank, max_attempts, created_at)
      SELECT id, 'queued', 1, 1000 - id, 3, 0 FROM gleaner_lanes WHERE limit_key = '';
    DELETE FROM gleaner_lanes WHERE limit_key <> '';
    UPDATE gleaner_meta SET value = 30 WHERE key = 'counted_through'`)
  connection.close()
  const store = await openStore(path)
  expect(await store.maintenance.check()).toEqual([])
  const worker = await new Claimant(store, new ManualClock(), { names: named('name') }).begin()
  const claims = await worker.claim(40)
  expect(claims.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, (_, n) => `name-${29 - n}`))
  const lines = connect(path).prepare('SELECT line, count(*) AS n FROM gleaner_lanes GROUP BY line').all()
  expect(lines).toEqual([
    { line: null, n: OWN_LINES_MAX },
    { line: OWN_LINES_MAX + 1, n: 30 - OWN_LINES_MAX },
  ])
})

test('check moves a task that stands in another line than its lane to the right one', async () => {
  const path = freshPath()
  const store = await openStore(path)
  await store.tasks.enqueue(Array.from({ length: 20 }, (_, n) => newTask({ name: `name-${n}` })))
  connect(path).exec(
    'UPDATE gleaner_tasks SET line = NULL WHERE id = 15; UPDATE gleaner_tasks SET line = 3 WHERE id = 16',
  )
  expect((await store.maintenance.check()).map(({ repaired }) => repaired)).toEqual([true])
  const worker = await new Claimant(store, new ManualClock(), { names: named('name') }).begin()
  expect(await worker.claim(30)).toHaveLength(20)
  expect(await store.maintenance.check()).toEqual([])
})
