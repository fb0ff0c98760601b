import { describe, expect, test } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'

const job = defineTask({ name: 'job', run: () => {} })

test('an empty filter is refused, unless all is said', async () => {
  const gleaner = await openTemp({ tasks: [job] })
  await gleaner.enqueue(job, undefined, { runAfter: '1h' })
  for (const change of ['retryAll', 'cancelAll', 'removeAll'] as const) {
    await expect(gleaner.tasks[change]({})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      hint: expect.stringContaining('{ all: true }'),
    })
  }
  expect(await gleaner.tasks.counts()).toMatchObject({ scheduled: 1 })
  expect(await gleaner.tasks.cancelAll({}, { all: true })).toMatchObject({ changed: 1 })
})

describe('what a change cannot apply to is refused:', () => {
  test.each([
    ['retryAll', { status: 'queued' }],
    ['cancelAll', { status: 'failed' }],
    ['cancelAll', { finishedAfter: 1 }],
    ['removeAll', { status: 'running' }],
    ['removeAll', { state: 'failed' }],
  ] as const)('%s(%j)', async (change, query) => {
    const gleaner = await openTemp({})
    await expect(gleaner.tasks[change](query as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      hint: expect.any(String),
    })
  })

  test('an option that is none', async () => {
    const gleaner = await openTemp({})
    await expect(gleaner.tasks.removeAll({ name: 'a' }, { dry: true } as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
  })
})

test('whoever waits for a task that is cancelled with many is told', async () => {
  const gleaner = await openTemp({ tasks: [job] })
  const handle = await gleaner.enqueue(job, undefined, { runAfter: '1h' })
  const told = expect(handle.result()).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
  await gleaner.tasks.cancelAll({ name: 'job' })
  await told
})
