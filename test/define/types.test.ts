import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  type Gleaner,
  type Handle,
  implement,
  type PostgresTx,
  type SqliteTx,
  type Task,
} from '../../src/index.ts'

// Checked by `npm run check:types`; running it only shows that nothing throws.
const embed = defineTask({
  name: 'embed',
  input: z.object({ path: z.string(), size: z.string().transform(Number) }),
  async run(input, ctx) {
    expectTypeOf(input).toEqualTypeOf<{ path: string; size: number }>()
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
    expectTypeOf(ctx.fence).toEqualTypeOf<number>()
    return { vector: [1, 2], at: new Date() }
  },
})
const nothing = defineTask({ name: 'nothing', run: () => 'done' })
const elsewhere = defineTask({
  name: 'elsewhere',
  input: z.string(),
  output: z.object({ words: z.number() }),
})

declare const gleaner: Gleaner

/** For the compiler alone; never called. */
function compiled(_body: (...given: any[]) => unknown): void {}

describe('types flow', () => {
  test('from the schema to enqueue', () => {
    expectTypeOf(embed).toExtend<Task<{ path: string; size: string }>>()
    compiled(() => {
      void gleaner.enqueue(embed, { path: 'a', size: '1' })
      // @ts-expect-error size is given as text
      void gleaner.enqueue(embed, { path: 'a', size: 1 })
      // @ts-expect-error an input is needed
      void gleaner.enqueue(embed)
      void gleaner.enqueue(nothing)
      void gleaner.enqueue(nothing, undefined, { priority: 5 })
      // @ts-expect-error it takes none
      void gleaner.enqueue(nothing, { a: 1 })
      // @ts-expect-error there is not an option
      void gleaner.enqueue(nothing, undefined, { priorty: 5 })
      void gleaner.enqueueMany(embed, [{ path: 'a', size: '1' }], {
        key: (input) => input.path,
        atomic: true,
      })
    })
  })

  test('from run to the result, as JSON stores it', () => {
    compiled(async () => {
      const handle = await gleaner.enqueue(embed, { path: 'a', size: '1' })
      expectTypeOf(handle).toExtend<Handle<{ vector: number[]; at: Date }>>()
      expectTypeOf(await handle.result()).toEqualTypeOf<{ vector: number[]; at: string }>()
      expectTypeOf(await (await gleaner.enqueue(nothing)).result()).toEqualTypeOf<string>()
    })
  })

  test('from output where run lives elsewhere, and to its implementation', () => {
    implement(elsewhere, {
      run(input) {
        expectTypeOf(input).toEqualTypeOf<string>()
        return { words: input.length }
      },
    })
    // @ts-expect-error the result has another shape
    implement(elsewhere, { run: () => 'many' })
    compiled(async () => {
      expectTypeOf(await gleaner.handle(elsewhere, '1').result()).toEqualTypeOf<{ words: number }>()
    })
  })

  test('inside a transaction: synchronous on SQLite, asynchronous on PostgreSQL', () => {
    compiled((db: SqliteTx, client: PostgresTx) => {
      expectTypeOf(gleaner.within(db).enqueue(nothing)).toEqualTypeOf<Handle<string>>()
      expectTypeOf(gleaner.within(client).enqueue(nothing)).toEqualTypeOf<Promise<Handle<string>>>()
    })
  })

  test('options that say what becomes of a held key, and filters, are checked as they are written', () => {
    compiled(async () => {
      await gleaner.enqueue(nothing, undefined, { key: 'k', debounce: '5s', maxWait: '1m' })
      await gleaner.enqueueMany(nothing, [undefined], { key: () => 'k', throttle: '1m' })
      // @ts-expect-error there is no such way
      await gleaner.enqueue(nothing, undefined, { key: 'k', whenHeld: 'drop' })
      // @ts-expect-error a duration has a unit
      await gleaner.enqueue(nothing, undefined, { key: 'k', debounce: '5 seconds' })
      await gleaner.tasks.list({ status: 'failed', finishedAfter: new Date(), error: 'x', limit: 10 })
      // @ts-expect-error there is no such status
      await gleaner.tasks.list({ status: 'waiting' })
      // @ts-expect-error a filter is needed, even an empty one
      await gleaner.tasks.removeAll()
      expectTypeOf((await gleaner.tasks.retryAll({}, { dryRun: true })).changed).toEqualTypeOf<number>()
      expectTypeOf((await gleaner.metrics()).tasks[0]!.durationMs!.p95).toEqualTypeOf<number>()
      expectTypeOf((await gleaner.tasks.explain('1')).reasons[0]!.fix).toEqualTypeOf<string | null>()
    })
  })
})
