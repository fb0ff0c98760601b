import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type ColumnValue, type Discovery, defineDiscovery, InputError } from '../../src/index.ts'

// Checked by `npm run check:types`; running it only shows that nothing throws.
const tagFiles = defineDiscovery({
  name: 'tag-files',
  table: 'library_files',
  key: 'id',
  where: 'needs_tagging = 1',
  row: z.object({ id: z.number(), path: z.string() }),
  async run(row, ctx) {
    expectTypeOf(row).toEqualTypeOf<{ id: number; path: string }>()
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
    return { bpm: 120, key: 'Am' }
  },
  done(tags, row) {
    expectTypeOf(tags).toEqualTypeOf<{ bpm: number; key: string }>()
    expectTypeOf(row).toEqualTypeOf<{ id: number; path: string }>()
    return { bpm: tags.bpm, needs_tagging: 0 }
  },
})

const plain = {
  name: 'plain',
  table: 'things',
  key: 'id',
  where: 'todo = 1',
  run: () => 'ran',
  done: () => ({ todo: 0 }),
} as const

describe('types flow', () => {
  test('from the schema of the row to run, and from run to done', () => {
    expectTypeOf(tagFiles).toEqualTypeOf<Discovery<{ bpm: number; key: string }>>()
    expectTypeOf(defineDiscovery(plain)).toEqualTypeOf<Discovery<string>>()
  })

  test('a row without a schema has any column', () => {
    defineDiscovery({
      ...plain,
      run: (row) => {
        expectTypeOf(row).toEqualTypeOf<Record<string, any>>()
        return row.size as number
      },
      done: (size) => {
        expectTypeOf(size).toEqualTypeOf<number>()
        return { size }
      },
    })
  })

  test('done may set what a column can hold, and nothing else', () => {
    expectTypeOf<ColumnValue>().toEqualTypeOf<string | number | bigint | boolean | null | Date | Uint8Array>()
    // @ts-expect-error a column holds no object
    defineDiscovery({ ...plain, done: () => ({ todo: { no: true } }) })
    // @ts-expect-error there is not an option
    expect(() => defineDiscovery({ ...plain, wehre: 'todo = 1' })).toThrow('wehre')
    // @ts-expect-error `done` is needed
    expect(() => defineDiscovery({ ...plain, done: undefined })).toThrow('done')
  })
})

describe('a declaration is refused', () => {
  test.each<[what: string, options: object, code: string, words: string]>([
    ['without a name', { name: undefined }, 'BAD_DEFINITION', 'defineDiscovery: name: undefined'],
    ['with a slash in its name', { name: 'a/b' }, 'BAD_DEFINITION', 'is not a name'],
    ['without a table', { table: '' }, 'BAD_DEFINITION', 'discovery plain: table: ""'],
    ['with a table that cannot be named', { table: 'a\0b' }, 'BAD_DEFINITION', 'table'],
    ['without a key', { key: undefined }, 'BAD_DEFINITION', 'key: undefined'],
    ['with a key of no columns', { key: [] }, 'BAD_DEFINITION', '0 columns'],
    ['with a key of too many columns', { key: [...'abcdefghi'] }, 'BAD_DEFINITION', '9 columns'],
    ['with the same column twice in its key', { key: ['a', 'a'] }, 'BAD_DEFINITION', 'named twice'],
    ['with a key that is no column', { key: [5] }, 'BAD_DEFINITION', 'key: 5'],
    ['without a condition', { where: ' ' }, 'BAD_DEFINITION', 'where'],
    ['with an endless condition', { where: 'x'.repeat(10_001) }, 'BAD_DEFINITION', '10000 characters'],
    ['with a version that is no column', { version: 5 }, 'BAD_DEFINITION', 'version: 5'],
    ['with an order that is none', { orderBy: {} }, 'BAD_DEFINITION', 'orderBy: an object'],
    ['with a schema that is none', { row: {} }, 'BAD_DEFINITION', 'row is not a Standard Schema'],
    ['with a run that is none', { run: 'later' }, 'BAD_DEFINITION', 'run is "later"'],
    ['without done', { done: undefined }, 'BAD_DEFINITION', 'done: undefined'],
    [
      'with a retry that is none',
      { retry: { attempts: 0 } },
      'BAD_OPTION',
      'discovery plain: retry.attempts',
    ],
    ['with a time-out that is none', { timeout: 'soon' }, 'BAD_DURATION', 'discovery plain: timeout'],
    ['with an option that is none', { queue: 'ml' }, 'BAD_DEFINITION', 'has no option "queue"'],
  ])('%s', (_what, options, code, words) => {
    const declare = () => defineDiscovery({ ...plain, ...options } as never)
    expect(declare).toThrow(InputError)
    expect(declare).toThrow(expect.objectContaining({ code, hint: expect.any(String) }))
    expect(declare).toThrow(words)
  })

  test('when it is no object', () => {
    expect(() => defineDiscovery(null as never)).toThrow(InputError)
  })
})
