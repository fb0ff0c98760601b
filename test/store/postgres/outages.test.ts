import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { defineTask, type Gleaner, type Task } from '../../../src/index.ts'
import { type Place, test } from './place.ts'

const COMMIT = /^COMMIT$/
const NOTING = /INSERT INTO \S+notes/

async function withNotes(place: Place): Promise<void> {
  await place.createSchema()
  await place.rows('CREATE TABLE gleaner.notes (id int UNIQUE DEFERRABLE INITIALLY IMMEDIATE)')
}

/** Its only attempt writes a note, as `write` does it. */
function noting(place: Place, write: (note: (id: number) => Promise<unknown>, tx: any) => Promise<void>) {
  return defineTask({
    name: 'note',
    retry: { attempts: 1, base: '1ms' },
    run: (_: undefined, ctx) =>
      ctx.complete('noted', (tx: any) =>
        write((id) => tx.query(`INSERT INTO ${place.schema}.notes VALUES ($1)`, [id]), tx),
      ),
  })
}

const outcomes = async (engine: Gleaner, id: string) =>
  (await engine.tasks.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome])

/** Of a task of one attempt that the store failed once. */
async function expectNotCharged(engine: Gleaner, task: Task, proceed: () => unknown): Promise<void> {
  const failed = new Promise<{ message: string }>((resolve) => {
    engine.on('problem', (problem) => /the store failed/.test(problem.message) && resolve(problem))
  })
  const handle = await engine.enqueue(task)
  engine.work()
  expect((await failed).message).toContain(`note/${handle.id}`)
  await proceed()
  expect(await handle.result({ timeout: '30s' })).toBe('noted')
  expect(await engine.tasks.get(handle.id)).toMatchObject({ status: 'completed', attempts: 1, error: null })
  expect(await outcomes(engine, handle.id)).toEqual([
    [1, 'later'],
    [1, 'completed'],
  ])
}

test('a connection that breaks under ctx.complete costs the task no attempt', async ({ place }) => {
  await withNotes(place)
  const proxy = await place.proxy()
  const engine = await place.open({
    database: proxy.url,
    tasks: [noting(place, async (note) => void (await note(1)))],
  })
  const lost = proxy.lose('question', COMMIT, NOTING)
  await expectNotCharged(
    engine,
    noting(place, async () => {}),
    () => lost,
  )
})

test('nor does one that breaks under the statement of the callback, which wraps its error in another', async ({
  place,
}) => {
  await withNotes(place)
  const proxy = await place.proxy()
  const task = noting(place, async (note) => {
    await note(1).catch((cause) => {
      throw new Error('could not note it', { cause })
    })
  })
  const engine = await place.open({ database: proxy.url, tasks: [task] })
  const lost = proxy.lose('question', NOTING)
  await expectNotCharged(engine, task, () => lost)
})

test('a server that has no connection left costs the task no attempt', async ({ place }) => {
  await withNotes(place)
  const role = `r_${randomUUID().replaceAll('-', '')}`
  await place.rows(`CREATE ROLE ${role} LOGIN PASSWORD 'none'`)
  await place.rows(`GRANT ALL ON SCHEMA ${place.schema} TO ${role}`)
  await place.rows(`GRANT ALL ON gleaner.notes TO ${role}`)
  place.atEnd(async () => {
    await place.rows(`DROP OWNED BY ${role} CASCADE`)
    await place.rows(`DROP ROLE ${role}`)
  })
  const url = new URL(place.url)
  url.username = role
  url.password = 'none'
  const limitTo = (connections: number) => place.rows(`ALTER ROLE ${role} CONNECTION LIMIT ${connections}`)
  let isFirst = true
  const task = defineTask({
    name: 'note',
    retry: { attempts: 1 },
    async run(_: undefined, ctx) {
      if (isFirst) await limitTo(0)
      isFirst = false
      // More than there are at rest.
      await Promise.all(Array.from({ length: 6 }, () => engine.queues.list()))
      return ctx.complete('noted', () => {})
    },
  })
  const engine = await place.open({ database: url.href, tasks: [task], postgres: { poolSize: 8 } })
  await expectNotCharged(engine, task, () => limitTo(-1))
})

test.for<[string, Parameters<typeof noting>[1]]>([
  ['that fails', async (note) => void (await Promise.all([note(1), note(1)]))],
  [
    'that fails at the commit',
    async (note, tx) => {
      await tx.query('SET CONSTRAINTS ALL DEFERRED')
      await Promise.all([note(1), note(1)])
    },
  ],
  ['whose error is swallowed', async (note) => void (await Promise.allSettled([note(1), note(1)]))],
  [
    'that waits for a lock for too long',
    async (_, tx) => tx.query('DO $$BEGIN RAISE lock_not_available; END$$'),
  ],
])('a statement of the callback %s is a failure of its handler', async ([, write], { place }) => {
  await withNotes(place)
  const task = noting(place, write)
  const engine = await place.open({ tasks: [task] })
  const handle = await engine.enqueue(task)
  engine.work()
  await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
  expect(await outcomes(engine, handle.id)).toEqual([[1, 'error']])
  expect(await place.rows('SELECT FROM gleaner.notes')).toEqual([])
})
