import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type EnqueueOptions } from '../../src/index.ts'
import { openTestGleaner } from '../../src/testing/index.ts'

function savingTask(saved: string[]) {
  return defineTask({ name: 'save', input: z.string(), run: (text) => void saved.push(text) })
}

describe('debounce, throttle and whenHeld', () => {
  test('a debounced task runs with the last input, when it was quiet for long enough', async () => {
    const saved: string[] = []
    const save = savingTask(saved)
    await using t = await openTestGleaner({ tasks: [save] })
    const options = { key: 'draft', debounce: '5s', maxWait: '12s' } as const
    const first = await t.enqueue(save, 'a', options)
    await t.advance('4s')
    const second = await t.enqueue(save, 'ab', options)
    expect([first.created, second.created, second.id]).toEqual([true, false, first.id])
    await t.advance('4s')
    await t.enqueue(save, 'abc', options)
    await t.advance('3s')
    expect(saved).toEqual([])
    await t.enqueue(save, 'abcd', options)
    // Twelve seconds after the first.
    await t.advance('1s')
    expect(saved).toEqual(['abcd'])
  })

  test('what comes while it runs runs after it', async () => {
    const saved: string[] = []
    const save = defineTask({
      name: 'save',
      input: z.string(),
      run: async (text) => {
        await t.sleep('1m')
        saved.push(text)
      },
    })
    await using t = await openTestGleaner({ tasks: [save] })
    const options = { key: 'draft', debounce: '5s' } as const
    await t.enqueue(save, 'a', options)
    await t.advance('10s')
    const later = await t.enqueue(save, 'b', options)
    expect(later.created).toBe(true)
    await t.enqueue(save, 'c', options)
    await t.advance('30s')
    const { reasons } = await t.tasks.explain(later.id)
    expect(reasons.filter(({ ok }) => !ok).map(({ check }) => check)).toContain('key-free')
    await t.advance('3m')
    expect(saved).toEqual(['a', 'c'])
  })

  test('a throttled key has one task in its time', async () => {
    const saved: string[] = []
    const save = savingTask(saved)
    await using t = await openTestGleaner({ tasks: [save] })
    const options = { key: 'draft', throttle: '1m' } as const
    const first = await t.enqueue(save, 'a', options)
    await t.runUntilIdle()
    const second = await t.enqueue(save, 'b', options)
    expect([first.created, second.created, second.id]).toEqual([true, false, first.id])
    await t.advance('1m')
    await t.enqueue(save, 'c', options)
    await t.runUntilIdle()
    expect(saved).toEqual(['a', 'c'])
  })

  test('enqueueMany, within and ctx.enqueue know them, too', async () => {
    const saved: string[] = []
    const save = savingTask(saved)
    const parent = defineTask({
      name: 'parent',
      run: async (_: undefined, ctx) => {
        await ctx.enqueue(save, 'from ctx', { key: 'x', whenHeld: 'replace' })
      },
    })
    await using t = await openTestGleaner({ tasks: [save, parent] })
    const handles = await t.enqueueMany(save, ['x1', 'y1', 'x2'], { key: (text) => text[0]!, debounce: '5s' })
    expect(handles.map(({ created }) => created)).toEqual([true, true, false])
    t.db.transaction(() => t.within(t.db).enqueue(save, 'y2', { key: 'y', debounce: '5s' })).immediate()
    await t.enqueue(parent)
    await t.advance('5s')
    expect(saved.sort()).toEqual(['from ctx', 'y2'])
  })

  test.each<[Record<string, unknown>, string]>([
    [{ debounce: '5s' }, 'BAD_KEY'],
    [{ throttle: '5s' }, 'BAD_KEY'],
    [{ whenHeld: 'replace' }, 'BAD_KEY'],
    [{ key: 'k', whenHeld: 'drop' }, 'BAD_OPTION'],
    [{ key: 'k', debounce: 'soon' }, 'BAD_DURATION'],
    [{ key: 'k', debounce: 0 }, 'BAD_OPTION'],
    [{ key: 'k', throttle: 0 }, 'BAD_OPTION'],
    [{ key: 'k', maxWait: '5s' }, 'BAD_OPTION'],
    [{ key: 'k', debounce: '5s', maxWait: '4s' }, 'BAD_OPTION'],
    [{ key: 'k', debounce: '5s', runAfter: '1m' }, 'BAD_OPTION'],
    [{ key: 'k', debounce: '5s', throttle: '1m' }, 'BAD_OPTION'],
    [{ key: 'k', debounce: '5s', whenHeld: 'keep' }, 'BAD_OPTION'],
    [{ key: 'k', throttle: '5s', whenHeld: 'replace' }, 'BAD_OPTION'],
    [{ key: 'k', keyScope: 'forever', throttle: '5s' }, 'BAD_KEY'],
  ])('%j is refused with %s and a hint, and nothing is written', async (options, code) => {
    const save = savingTask([])
    await using t = await openTestGleaner({ tasks: [save] })
    await expect(t.enqueue(save, 'a', options as EnqueueOptions)).rejects.toMatchObject({
      code,
      hint: expect.any(String),
    })
    expect((await t.tasks.list()).items).toEqual([])
  })
})
