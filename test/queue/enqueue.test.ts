import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, TaskFailed, TaskGone, WaitTimeout } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'

const square = defineTask({ name: 'square', input: z.number(), run: (n) => n * n })

describe('enqueueMany', () => {
  test('takes 100 000 inputs in one call and answers their handles in order', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const handles = await gleaner.enqueueMany(
      square,
      Array.from({ length: 100_000 }, (_, n) => n),
    )
    expect(handles).toHaveLength(100_000)
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 100_000 })
    for (const n of [0, 999, 1_000, 54_321, 99_999]) {
      expect((await gleaner.tasks.get(handles[n]!.id))?.input).toBe(n)
    }
  })

  test('writes nothing when one input is bad, and names its position', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const inputs = Array.from({ length: 5_000 }, (_, n) => n)
    inputs[4_321] = 'x' as never
    await expect(gleaner.enqueueMany(square, inputs)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('number 4321'),
    })
    expect(await gleaner.tasks.counts()).toMatchObject({ queued: 0 })
  })

  test('gives each input its own key, and names the holder of one that is held', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const first = await gleaner.enqueue(square, 2, { key: 'n2' })
    const handles = await gleaner.enqueueMany(square, [1, 2, 3, 3], { key: (n) => `n${n}` })
    expect(handles.map((handle) => handle.created)).toEqual([true, false, true, false])
    expect(handles[1]?.id).toBe(first.id)
    expect(handles[3]?.id).toBe(handles[2]?.id)
  })

  test('refuses one key for all of them', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    await expect(gleaner.enqueueMany(square, [1], { key: 'k' as never })).rejects.toMatchObject({
      code: 'BAD_KEY',
    })
  })

  test('of nothing is nothing', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    expect(await gleaner.enqueueMany(square, [])).toEqual([])
    expect(await gleaner.enqueueMany(square, [], { atomic: true })).toEqual([])
  })
})

describe('a handle', () => {
  test('gives the result of its task', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const handle = await gleaner.enqueue(square, 12)
    gleaner.work()
    expect(await handle.result()).toBe(144)
  })

  test('of an earlier task can be had again by its id', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const { id } = await gleaner.enqueue(square, 3)
    gleaner.work()
    expect(await gleaner.handle(square, id).result()).toBe(9)
  })

  test('rejects when the wait is over; the task goes on', async () => {
    const gleaner = await openTemp({ tasks: [square] })
    const handle = await gleaner.enqueue(square, 3)
    await expect(handle.result({ timeout: 1 })).rejects.toBeInstanceOf(WaitTimeout)
    gleaner.work()
    expect(await handle.result()).toBe(9)
  })

  test('rejects when the task failed, was cancelled, removed, or never was', async () => {
    const failing = defineTask({
      name: 'failing',
      retry: { attempts: 1 },
      run: () => {
        throw new Error('out of cheese')
      },
    })
    const gleaner = await openTemp({ tasks: [square, failing] })
    const failed = await gleaner.enqueue(failing)
    const cancelled = await gleaner.enqueue(square, 1, { runAfter: '1h' })
    const removed = await gleaner.enqueue(square, 1, { runAfter: '1h' })
    const waiting = Promise.allSettled([
      cancelled.result(),
      removed.result(),
      gleaner.handle(square, 'x').result(),
    ])
    await cancelled.cancel()
    await gleaner.tasks.remove(removed.id)
    gleaner.work()
    await expect(failed.result()).rejects.toMatchObject({ constructor: TaskFailed, kind: 'error' })
    expect((await waiting).map((end) => end.status === 'rejected' && end.reason.code)).toEqual([
      'TASK_CANCELLED',
      'TASK_GONE',
      'TASK_GONE',
    ])
    await expect(removed.cancel()).rejects.toBeInstanceOf(TaskGone)
  })

  test('checks the result against the output schema of its definition', async () => {
    const lying = defineTask({ name: 'lying', output: z.string(), run: () => 5 as never })
    const gleaner = await openTemp({ tasks: [lying] })
    const handle = await gleaner.enqueue(lying)
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })
})

describe('what is stored', () => {
  test('is the input as given; transforms and defaults of its schema apply before it runs', async () => {
    const parse = defineTask({
      name: 'parse',
      input: z.object({ n: z.string().transform(Number), unit: z.string().default('kg') }),
      run: ({ n, unit }) => `${n + 1} ${unit}`,
    })
    const gleaner = await openTemp({ tasks: [parse] })
    const handle = await gleaner.enqueue(parse, { n: '41' })
    expect((await gleaner.tasks.get(handle.id))?.input).toEqual({ n: '41' })
    gleaner.work()
    expect(await handle.result()).toBe('42 kg')
  })

  test('that no longer fits its schema fails for good, before the handler runs', async () => {
    let strict = false
    const changing = defineTask({
      name: 'changing',
      input: z.string().refine(() => !strict, 'no longer welcome'),
      run: () => expect.unreachable(),
    })
    const gleaner = await openTemp({ tasks: [changing] })
    const handle = await gleaner.enqueue(changing, 'x')
    strict = true
    gleaner.work()
    await expect(handle.result()).rejects.toMatchObject({ kind: 'permanent' })
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1 })
  })

  test('is checked by asynchronous schemas too', async () => {
    const slow = defineTask({
      name: 'slow-check',
      input: z.string().refine(async (word) => word !== 'bad'),
      run: (word) => word,
    })
    const gleaner = await openTemp({ tasks: [slow] })
    await expect(gleaner.enqueue(slow, 'bad')).rejects.toMatchObject({ code: 'BAD_INPUT' })
    const handle = await gleaner.enqueue(slow, 'good')
    gleaner.work()
    expect(await handle.result()).toBe('good')
  })
})
