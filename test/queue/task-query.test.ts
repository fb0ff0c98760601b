import { describe, expect, test } from 'vitest'
import { defineTask, type TaskQuery } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'

const job = defineTask({ name: 'job', run: () => 'done' })

describe('a filter of tasks is refused, with a hint:', () => {
  test.each([
    [{ state: 'failed' }, 'BAD_OPTION'],
    [{ status: 'waiting' }, 'BAD_OPTION'],
    [{ status: ['failed'] }, 'BAD_OPTION'],
    [{ queue: 'a/b' }, 'BAD_QUEUE'],
    [{ name: '' }, 'BAD_OPTION'],
    [{ key: '' }, 'BAD_KEY'],
    [{ key: 7 }, 'BAD_KEY'],
    [{ error: '' }, 'BAD_OPTION'],
    [{ error: /x/ }, 'BAD_OPTION'],
    [{ error: 'x'.repeat(1_001) }, 'BAD_OPTION'],
    [{ createdAfter: new Date('never') }, 'BAD_DATE'],
    [{ createdBefore: '2026-13-01' }, 'BAD_DATE'],
    [{ createdBefore: '2026-01-01T10:00' }, 'BAD_DATE'],
    [{ createdBefore: 'yesterday' }, 'BAD_DATE'],
    [{ createdBefore: '1' }, 'BAD_DATE'],
    [{ startedBefore: '2026' }, 'BAD_DATE'],
    [{ startedBefore: {} }, 'BAD_DATE'],
    [{ runningLongerThan: '10 minutes' }, 'BAD_DURATION'],
    [{ runningLongerThan: -1 }, 'BAD_DURATION'],
    [{ status: 'failed', runningLongerThan: '10m' }, 'BAD_OPTION'],
    [{ status: 'queued', startedBefore: 10 }, 'BAD_OPTION'],
    [{ status: 'scheduled', startedBefore: 10 }, 'BAD_OPTION'],
    [{ createdAfter: 10, startedBefore: 10 }, 'BAD_OPTION'],
    [{ runningLongerThan: '1m', finishedAfter: 10 }, 'BAD_OPTION'],
    [{ finishedAfter: -1 }, 'BAD_DATE'],
    [{ finishedBefore: 1.5 }, 'BAD_DATE'],
    [{ createdAfter: 10, createdBefore: 10 }, 'BAD_OPTION'],
    [{ finishedAfter: 10, finishedBefore: 9 }, 'BAD_OPTION'],
    [{ status: 'queued', finishedAfter: 1 }, 'BAD_OPTION'],
    [{ limit: 0 }, 'BAD_OPTION'],
    [{ cursor: 'nonsense' }, 'BAD_CURSOR'],
  ])('%j is answered with %s', async (query, code) => {
    const gleaner = await openTemp({})
    await expect(gleaner.tasks.list(query as TaskQuery)).rejects.toMatchObject({
      code,
      hint: expect.any(String),
    })
  })
})

test('counts know queues and names alone', async () => {
  const gleaner = await openTemp({})
  await expect(gleaner.tasks.counts({ status: 'failed' } as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    hint: expect.stringContaining('queue, name'),
  })
})

test('a change that cannot apply to what runs is refused', async () => {
  const gleaner = await openTemp({})
  for (const change of ['retryAll', 'removeAll'] as const)
    await expect(gleaner.tasks[change]({ runningLongerThan: '1m' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(`${change}: tasks that are running cannot be`),
    })
})

test('a time may be a Date, milliseconds or an ISO date', async () => {
  const gleaner = await openTemp({ tasks: [job] })
  const { id } = await gleaner.enqueue(job)
  const { createdAt } = (await gleaner.tasks.get(id))!
  const iso = new Date(createdAt).toISOString()
  const elsewhere = iso.replace('Z', '+00:00')
  for (const createdAfter of [createdAt, new Date(createdAt), iso, elsewhere, iso.slice(0, 10)]) {
    expect((await gleaner.tasks.list({ createdAfter })).items.map((task) => task.id)).toEqual([id])
  }
  expect((await gleaner.tasks.list({ createdBefore: createdAt })).items).toEqual([])
})
