import { expect, onTestFinished, test } from 'vitest'
import { defineTask, implement, TaskGone } from '../../src/index.ts'
import { identifySelf } from '../../src/process-identity.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const job = defineTask({ name: 'job', run: () => 'done' })
const remote = defineTask({ name: 'remote' })

test('explain says what is missing, step by step, until the task runs', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [job, remote] })
  const failing = async () => (await gleaner.tasks.explain(handle.id)).reasons.filter(({ ok }) => !ok)
  const handle = await gleaner.enqueue(remote)
  expect(await failing()).toMatchObject([
    {
      check: 'worker-serves-queue',
      fix: 'Start one: add "default" to the `queues` of a pool in the config and restart `gleaner start`, or call `gleaner.work({ queues: [\'default\'] })`.',
    },
  ])
  const worker = gleaner.work()
  await worker.drained()
  expect(await failing()).toMatchObject([
    { check: 'worker-knows-task', detail: expect.stringContaining('remote') },
  ])

  const other = await openTemp({ path, tasks: [implement(remote, { run: () => 'far away' })] })
  other.work()
  await handle.result()
  expect(await gleaner.tasks.explain(handle.id)).toMatchObject({
    runnable: false,
    reasons: [{ check: 'unfinished', detail: expect.stringContaining('completed') }],
  })
})

test('a worker whose process is dead serves nobody, even before it is swept', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [job] })
  const { id } = await gleaner.enqueue(job)
  const last = async () => (await gleaner.tasks.explain(id)).reasons.at(-1)
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  const session = { worker: 'worker:late:0', queues: ['default'], names: ['job'], capabilities: {} }
  await store.sessions.openSession({ ...session, process: { ...identifySelf(), startTime: 'another life' } })
  expect(await last()).toMatchObject({ check: 'worker-serves-queue', ok: false })
  await store.sessions.openSession({ ...session, process: identifySelf() })
  expect(await last()).toMatchObject({ check: 'worker-has-capabilities', ok: true })
})

test('there is nothing to explain about a task that is gone', async () => {
  const gleaner = await openTemp({})
  await expect(gleaner.tasks.explain('1')).rejects.toBeInstanceOf(TaskGone)
})
