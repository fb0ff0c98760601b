import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type EnqueueOptions } from '../../src/index.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'

const track = z.object({ region: z.string(), format: z.string().default('flac'), file: z.string() })

const convert = defineTask({
  name: 'convert',
  input: track,
  requires: ({ region, format }) => ({ region, format }),
  run: ({ file }) => file,
})
const input = { region: 'eu', file: 'a.wav' }

describe('requirements that a task computes from its input', () => {
  test('are those of the parsed input, and enqueue is merged over them', async () => {
    const gleaner = await openTemp({ tasks: [convert] })
    const requiresOf = async (options?: EnqueueOptions) => {
      const { id } = await gleaner.enqueue(convert, input, options)
      return (await gleaner.tasks.get(id))?.requires
    }
    expect(await requiresOf()).toEqual({ region: 'eu', format: 'flac' })
    expect(await requiresOf({ requires: { region: 'us', gpu: true } })).toEqual({
      region: 'us',
      format: 'flac',
      gpu: true,
    })
  })

  test('hold for enqueueMany, a transaction, a schedule and tasks of tasks', async () => {
    const nightly = defineTask({
      name: 'nightly',
      input: track,
      requires: ({ region }) => ({ region }),
      every: '1h',
      everyInput: { ...input, region: 'schedule' },
      run: () => {},
    })
    const parent = defineTask({
      name: 'parent',
      run: async (_, ctx) => {
        await ctx.enqueue(convert, { ...input, region: 'child' })
      },
    })
    const path = tempDatabase()
    const gleaner = await openTemp({ path, tasks: [convert, nightly, parent] })
    await gleaner.enqueueMany(convert, [input, { ...input, region: 'us' }, input])
    await gleaner.schedules.trigger('nightly')
    await gleaner.enqueue(parent)
    await gleaner.work().drained()
    const regions = (await gleaner.tasks.list({ limit: 20 })).items.flatMap(
      ({ requires }) => requires?.region ?? [],
    )
    expect(regions.toSorted()).toEqual(['child', 'eu', 'eu', 'schedule', 'us'])
    expect((await gleaner.tasks.list({ requires: { region: 'eu' } })).items).toHaveLength(2)
    expect((await gleaner.tasks.counts({ requires: { region: 'us' } })).queued).toBe(1)
    // This worker has none of them.
    expect((await gleaner.tasks.counts({ name: 'convert' })).completed).toBe(0)
    await gleaner.work({ capabilities: { region: 'eu', format: ['flac', 'mp3'] } }).drained()
    expect((await gleaner.tasks.counts({ name: 'convert' })).completed).toBe(2)
    expect(await gleaner.tasks.cancelAll({ requires: { region: 'us' } })).toMatchObject({ changed: 1 })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no region')
      },
      'requires failed: no region',
    ],
    ['returns nothing', () => undefined, 'requires'],
    ['returns a list', () => ['eu'], 'requires'],
    ['returns a part that is undefined', () => ({ region: undefined }), 'requires'],
    ['returns a promise', async () => ({}), 'requires'],
    ['returns what no database stores', () => ({ region: 'a\0b' }), 'requires'],
    ['returns no number', () => ({ cores: Number.NaN }), 'requires'],
  ])('a function that %s is a typed error, and nothing is enqueued', async (_, requires, words) => {
    const task = defineTask({ name: 'bad', input: z.number(), requires: requires as never, run: () => {} })
    const gleaner = await openTemp({ tasks: [task] })
    for (const enqueue of [() => gleaner.enqueue(task, 1), () => gleaner.enqueueMany(task, [1, 2])]) {
      await expect(enqueue()).rejects.toMatchObject({ code: 'BAD_REQUIRES', hint: expect.any(String) })
      await expect(enqueue()).rejects.toThrow(words)
    }
    expect((await gleaner.tasks.counts()).queued).toBe(0)
  })

  test('a filter without a requirement, or that is none, is refused', async () => {
    const gleaner = await openTemp({ tasks: [convert] })
    for (const requires of [{}, ['eu'], { region: null }])
      await expect(gleaner.tasks.list({ requires: requires as never })).rejects.toMatchObject({
        code: 'BAD_OPTION',
      })
  })
})
