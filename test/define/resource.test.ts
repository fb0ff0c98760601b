import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineDiscovery,
  defineResource,
  defineTask,
  InputError,
  implement,
  type Resource,
  ResourceError,
} from '../../src/index.ts'
import { openTestGleaner } from '../../src/testing/index.ts'

const model = defineResource({ name: 'model', load: async () => ({ embed: (text: string) => text.length }) })

function refusal(define: () => unknown): InputError {
  try {
    define()
  } catch (error) {
    expect(error).toBeInstanceOf(InputError)
    return error as InputError
  }
  return expect.unreachable('it was accepted')
}

const load = (): unknown => 1

describe('a resource is refused', () => {
  test.each([
    ['without a name', { load }, 'name: undefined'],
    ['with a name that is none', { name: 'a b', load }, '"a b" is not a name'],
    ['without a load', { name: 'm' }, 'load: undefined'],
    ['with a probe that is none', { name: 'm', load, probe: true }, 'probe: true'],
    ['with an unload that is none', { name: 'm', load, unload: 'dispose' }, 'unload: "dispose"'],
    ['with an option that does not exist', { name: 'm', load, idleafter: '5m' }, '"idleafter"'],
    ['with an idle time that is none', { name: 'm', load, idleAfter: 'soon' }, 'm: idleAfter: "soon"'],
    ['with a time-out that is none', { name: 'm', load, loadTimeout: -1 }, 'm: loadTimeout: -1'],
    ['that is nothing', undefined, 'name: undefined'],
  ])('%s', (_, options, words) => {
    const error = refusal(() => defineResource(options as never))
    expect(error.message).toContain(words)
    expect(error.hint).toBeTruthy()
  })

  test.each([
    ['an array', [model], 'uses: an array'],
    ['nothing', null, 'uses: null'],
    ['something that defineResource did not return', { m: { name: 'm', load } }, 'uses.m: an object'],
  ])('where a task uses %s', (_, uses, words) => {
    const error = refusal(() => defineTask({ name: 't', uses: uses as never, run: () => {} }))
    expect(error).toMatchObject({ code: 'BAD_DEFINITION', message: expect.stringContaining(words) })
    const task = defineTask({ name: 't' })
    expect(refusal(() => implement(task, { uses: uses as never, run: () => {} })).message).toContain(words)
    const rows = { name: 'd', table: 't', key: 'id', where: '1', run: () => {}, done: () => ({}) }
    expect(refusal(() => defineDiscovery({ ...rows, uses: uses as never })).message).toContain(words)
  })

  test('whose name is that of another one', async () => {
    const other = defineResource({ name: 'model', load: () => 2 })
    const tasks = [model, other].map((resource, n) =>
      defineTask({ name: `task${n}`, uses: { resource }, run: () => {} }),
    )
    await expect(openTestGleaner({ tasks })).rejects.toThrow('two different resources have the name model')
    // The same one may be used by many.
    const twice = [1, 2].map((n) => defineTask({ name: `task${n}`, uses: { model }, run: () => {} }))
    await (await openTestGleaner({ tasks: twice })).close()
  })
})

test('what a worker is told of resource errors is checked', async () => {
  await using t = await openTestGleaner({ tasks: [defineTask({ name: 't', run: () => {} })] })
  for (const resourceErrorLimit of [0, 1.5, Number.NaN, '10' as never])
    expect(refusal(() => t.work({ resourceErrorLimit })).message).toContain('resourceErrorLimit')
})

test('types flow from load to unload and to ctx.use, in tasks and discoveries', () => {
  expectTypeOf(model).toExtend<Resource<{ embed: (text: string) => number }>>()
  defineResource({ name: 'm', load: () => new Map<string, number>(), unload: (map) => map.clear() })
  // @ts-expect-error it is no map
  defineResource({ name: 'm', load: () => 1, unload: (map: Map<string, number>) => map.clear() })
  defineTask({
    name: 't',
    input: z.string(),
    uses: { model },
    run: (text, ctx) => {
      expectTypeOf(ctx.use).toEqualTypeOf<{ readonly model: { embed: (text: string) => number } }>()
      return ctx.use.model.embed(text)
    },
  })
  defineDiscovery({
    name: 'd',
    table: 'files',
    key: 'id',
    where: 'length IS NULL',
    row: z.object({ path: z.string() }),
    uses: { model },
    run: (row, ctx) => ctx.use.model.embed(row.path),
    done: (length) => {
      expectTypeOf(length).toEqualTypeOf<number>()
      return { length }
    },
  })
})

test('a ResourceError says what, and why', () => {
  const cause = new Error('ECC')
  const error = new ResourceError('the GPU is broken', cause)
  expect(error).toMatchObject({
    name: 'ResourceError',
    code: 'RESOURCE',
    message: 'the GPU is broken',
    cause,
  })
})
