import { describe, expect } from 'vitest'
import { defineTask, type Gleaner, PermanentError, type Retry, RetryLater } from '../../src/index.ts'
import { type Place, test } from './place.ts'

function failing(retry: Retry) {
  return defineTask({
    name: 'failing',
    retry,
    run: async (): Promise<string> => {
      throw new Error('no')
    },
  })
}

/** The delays that the worker announced, until the task has failed for good. */
async function delaysOf(
  place: Place,
  retry: Retry,
): Promise<{ delays: number[]; gleaner: Gleaner; id: string }> {
  const task = failing(retry)
  const gleaner = await place.open({ tasks: [task] })
  const delays: number[] = []
  gleaner.on('retrying', ({ afterMs }) => delays.push(afterMs))
  const handle = await gleaner.enqueue(task)
  gleaner.work()
  await expect(handle.result()).rejects.toMatchObject({ code: 'TASK_FAILED', kind: 'error' })
  return { delays, gleaner, id: handle.id }
}

describe.concurrent('retrying', () => {
  test('fixed backoff waits the same each time', async ({ place }) => {
    const retry = { attempts: 4, backoff: 'fixed', base: 5, jitter: 0 } as const
    expect((await delaysOf(place, retry)).delays).toEqual([5, 5, 5])
  })

  test('linear backoff waits longer each time', async ({ place }) => {
    const retry = { attempts: 4, backoff: 'linear', base: 5, jitter: 0 } as const
    expect((await delaysOf(place, retry)).delays).toEqual([5, 10, 15])
  })

  test('exponential backoff doubles each time, up to its ceiling', async ({ place }) => {
    const retry = { attempts: 6, backoff: 'exponential', base: 4, max: 20, jitter: 0 } as const
    expect((await delaysOf(place, retry)).delays).toEqual([4, 8, 16, 20, 20])
  })

  test('a function of your own decides', async ({ place }) => {
    const retry: Retry = { attempts: 4, backoff: (attempt) => attempt * attempt, jitter: 0 }
    expect((await delaysOf(place, retry)).delays).toEqual([1, 4, 9])
  })

  test('jitter spreads the delays', async ({ place }) => {
    const retry = { attempts: 9, backoff: 'fixed', base: 20, jitter: 0.5 } as const
    const { delays } = await delaysOf(place, retry)
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(10)
    expect(Math.max(...delays)).toBeLessThanOrEqual(30)
    expect(new Set(delays).size).toBeGreaterThan(1)
  })

  test('a backoff function that throws loses neither the failure nor the task', async ({ place }) => {
    const task = failing({
      attempts: 2,
      backoff: () => {
        throw new Error('a bug in it')
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const { id } = await gleaner.enqueue(task)
    const retrying = new Promise((resolve) => gleaner.on('retrying', resolve))
    gleaner.work()
    await retrying
    expect(await gleaner.tasks.get(id)).toMatchObject({ attempts: 1, error: { message: 'Error: no' } })
  })

  test('attempts and curve can be set for one task alone', async ({ place }) => {
    const task = failing({ attempts: 2, backoff: 'fixed', base: '1h' })
    const gleaner = await place.open({ tasks: [task] })
    const delays: number[] = []
    gleaner.on('retrying', ({ afterMs }) => delays.push(afterMs))
    const handle = await gleaner.enqueue(task, undefined, {
      retry: { attempts: 4, backoff: 'linear', base: 1, jitter: 0 },
    })
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'error' })
    expect(delays).toEqual([1, 2, 3])
  })

  test('each failed attempt is kept with its error', async ({ place }) => {
    const { gleaner, id } = await delaysOf(place, { attempts: 2, backoff: 'fixed', base: 1 })
    expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'failed', attempts: 2, maxAttempts: 2 })
    expect(await gleaner.tasks.attempts(id)).toMatchObject([
      { attempt: 1, outcome: 'error', error: { kind: 'error', message: 'Error: no' } },
      {
        attempt: 2,
        outcome: 'error',
        error: { kind: 'error', stack: expect.stringContaining('retrying.test') },
      },
    ])
  })

  test('PermanentError is not retried', async ({ place }) => {
    const task = defineTask({
      name: 'task',
      retry: { attempts: 10 },
      run: async () => {
        throw new PermanentError('there is no such file')
      },
    })
    const gleaner = await place.open({ tasks: [task] })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'permanent' })
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({
      attempts: 1,
      error: { kind: 'permanent', message: 'there is no such file' },
    })
  })

  test('RetryLater is not a failure: the attempt is returned', async ({ place }) => {
    let calls = 0
    const task = defineTask({
      name: 'task',
      retry: { attempts: 1 },
      run: async (_, ctx) => {
        calls += 1
        if (calls < 4) throw new RetryLater(5)
        return ctx.attempt
      },
    })
    const failures: unknown[] = []
    const gleaner = await place.open({
      tasks: [task],
      hooks: { onFailure: (failure) => failures.push(failure) },
    })
    const handle = await gleaner.enqueue(task)
    gleaner.work()
    expect(await handle.result()).toBe(1)
    expect(calls).toBe(4)
    expect(failures).toEqual([])
    expect((await gleaner.tasks.attempts(handle.id)).map(({ outcome }) => outcome)).toEqual([
      'later',
      'later',
      'later',
      'completed',
    ])
  })

  test('a failed task can be retried by hand, with all its attempts', async ({ place }) => {
    const { gleaner, id } = await delaysOf(place, { attempts: 2, backoff: 'fixed', base: 1 })
    await gleaner.tasks.retry(id)
    await expect(gleaner.handle(failing({}), id).result()).rejects.toMatchObject({ kind: 'error' })
    expect(await gleaner.tasks.attempts(id)).toHaveLength(4)
  })
})
