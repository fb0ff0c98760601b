import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner, InputError, implement } from '../../src/index.ts'
import { openTemp } from '../temp-database.ts'

const mail = defineTask({
  name: 'mail.send',
  input: z.object({ to: z.string(), attachments: z.array(z.object({ path: z.string() })).optional() }),
  run: () => {},
})
const anything = defineTask({ name: 'anything', input: z.any(), run: () => {} })
const stranger = defineTask({ name: 'stranger', run: () => {} })

/** Whatever is refused leaves nothing behind. */
async function refused(attempt: (gleaner: Gleaner) => Promise<unknown>): Promise<InputError> {
  const gleaner = await openTemp({ tasks: [mail, anything], payloadLimit: 1_000 })
  const error = await attempt(gleaner).then(
    () => expect.unreachable('it was accepted'),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(InputError)
  expect((await gleaner.tasks.list()).items).toEqual([])
  return error as InputError
}

describe('an input is refused, and nothing is written,', () => {
  test('when it does not fit its schema; the error names the field', async () => {
    const error = await refused((g) => g.enqueue(mail, { to: 'a', attachments: [{ path: 5 as never }] }))
    expect(error).toMatchObject({ code: 'BAD_INPUT', issues: [{ path: 'attachments.0.path' }] })
    expect(error.message).toContain('attachments.0.path')
  })

  test.each([
    ['a BigInt', { deep: { n: 1n } }, 'input of anything.deep.n is a BigInt (1n)'],
    ['a function', { list: [1, () => {}] }, 'input of anything.list.1 is a function'],
    ['a symbol', { s: Symbol('x') }, 'input of anything.s is a symbol'],
    ['NaN', { n: Number.NaN }, 'NaN'],
    ['an infinite number', [Number.POSITIVE_INFINITY], 'Infinity'],
    [
      'a Map',
      { deep: { m: new Map([[1, 2]]) } },
      'input of anything.deep.m is a Map, which JSON would turn into {}',
    ],
    ['a Set', [new Set([1])], 'input of anything.0 is a Set'],
    ['an error', { e: new Error('x') }, 'input of anything.e is an Error, which JSON would turn into {}'],
    ['a pattern', { p: /x/ }, 'input of anything.p is a RegExp'],
    ['a promise', { p: Promise.resolve(1) }, 'input of anything.p is a Promise'],
    [
      'an instance that JSON sees nothing of',
      {
        i: new (class Secret {
          #x = 1
          get x() {
            return this.#x
          }
        })(),
      },
      'input of anything.i is a Secret',
    ],
    [
      'no date',
      { at: new Date(Number.NaN) },
      'input of anything.at is an invalid Date, which JSON would turn into null',
    ],
    ['a toJSON that gives nothing', { toJSON: () => undefined }, 'toJSON'],
  ])('when it holds %s', async (_what, input, words) => {
    const error = await refused((g) => g.enqueue(anything, input))
    expect(error).toMatchObject({ code: 'NOT_JSON', hint: expect.stringContaining('plain data') })
    expect(error.message).toContain(words)
  })

  test('when it refers to itself', async () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(await refused((g) => g.enqueue(anything, cycle))).toMatchObject({ code: 'NOT_JSON' })
  })

  test('when its JSON is over the limit, counted in bytes', async () => {
    const error = await refused((g) => g.enqueue(anything, '€'.repeat(340)))
    expect(error).toMatchObject({ code: 'TOO_LARGE', hint: expect.stringContaining('payloadLimit') })
    expect(error.message).toContain('1022 bytes')
  })

  test('when the task is unknown to this process; the error names those that are known', async () => {
    const error = await refused((g) => g.enqueue(stranger))
    expect(error).toMatchObject({
      code: 'UNKNOWN_TASK',
      hint: expect.stringContaining('mail.send, anything'),
    })
  })

  test.each([undefined, null, 'mail.send', {}, { name: 'mail.send' }])(
    'when %j is given for a task',
    async (task) => {
      expect(await refused((g) => g.enqueue(task as never, 1 as never))).toMatchObject({
        code: 'UNKNOWN_TASK',
      })
    },
  )
})

describe('a schema that what is stored does not fit', () => {
  const at = defineTask({ name: 'at', input: z.object({ deep: z.object({ at: z.date() }) }), run: () => {} })
  const made = defineTask({ name: 'made', input: z.object({ of: z.instanceof(URL) }), run: () => {} })

  test('refuses the input at enqueue: the error names the field and says what to do', async () => {
    const gleaner = await openTemp({ tasks: [at, made] })
    const attempts = [
      gleaner.enqueue(at, { deep: { at: new Date() } }),
      gleaner.enqueueMany(at, [{ deep: { at: new Date() } }]),
      gleaner.enqueue(made, { of: new URL('http://localhost') }),
    ]
    for (const [n, attempt] of attempts.entries()) {
      const error = (await attempt.catch((error) => error)) as InputError
      expect(error).toMatchObject({ code: 'BAD_INPUT', hint: expect.stringContaining('z.coerce.date()') })
      expect(error.message).toContain('as it is stored, which is JSON')
      expect(error.issues?.[0]?.path).toBe(['deep.at', '0.deep.at', 'of'][n])
    }
    expect((await gleaner.tasks.list()).items).toEqual([])
  })

  test.each([
    ['coerced dates', z.object({ at: z.coerce.date() }), { at: new Date(5) }, { at: new Date(5) }],
    [
      'text of a date',
      z.object({ at: z.iso.datetime() }),
      { at: new Date(5).toISOString() },
      { at: new Date(5).toISOString() },
    ],
    ['anything', z.any(), { at: new Date(5) }, { at: new Date(5).toJSON() }],
  ])('takes %s', async (_what, input, given, seen) => {
    const got: unknown[] = []
    const task = defineTask({ name: 'task', input: input as z.ZodType, run: (value) => void got.push(value) })
    const gleaner = await openTemp({ tasks: [task] })
    const handle = await gleaner.enqueue(task, given)
    gleaner.work()
    await handle.result()
    expect(got).toEqual([seen])
  })
})

test('a result that JSON would turn into nothing fails the task for good, and the message names the field', async () => {
  const returned: unknown[] = [new Map([[1, 2]]), { tags: new Set([1]) }, { deep: [new Error('x')] }]
  const task = defineTask({ name: 'task', input: z.number(), run: (n): unknown => returned[n] })
  const gleaner = await openTemp({ tasks: [task] })
  const handles = await gleaner.enqueueMany(task, [...returned.keys()])
  gleaner.work()
  for (const handle of handles) await expect(handle.result()).rejects.toMatchObject({ code: 'TASK_FAILED' })
  const { items } = await gleaner.tasks.list()
  expect(items.map(({ attempts, error }) => [attempts, error?.kind])).toEqual(
    returned.map(() => [1, 'permanent']),
  )
  expect(items.map(({ error }) => error!.message).sort()).toEqual([
    expect.stringContaining('result of task is a Map, which JSON would turn into {}'),
    expect.stringContaining('result of task.deep.0 is an Error, which JSON would turn into {}'),
    expect.stringContaining('result of task.tags is a Set, which JSON would turn into {}'),
  ])
})

describe('an option is refused, and nothing is written:', () => {
  const longKey = 'k'.repeat(501)
  test.each([
    ['queue', '', 'BAD_QUEUE'],
    ['queue', 'a/b', 'BAD_QUEUE'],
    ['queue', 'q'.repeat(101), 'BAD_QUEUE'],
    ['queue', 7, 'BAD_QUEUE'],
    ['key', '', 'BAD_KEY'],
    ['key', longKey, 'BAD_KEY'],
    ['key', 'nul\0', 'BAD_KEY'],
    ['key', 7, 'BAD_KEY'],
    ['keyScope', 'sometimes', 'BAD_KEY'],
    ['keyScope', 'forever', 'BAD_KEY'],
    ['priority', 0, 'BAD_PRIORITY'],
    ['priority', 1001, 'BAD_PRIORITY'],
    ['priority', 1.5, 'BAD_PRIORITY'],
    ['priority', '10', 'BAD_PRIORITY'],
    ['runAfter', '5 minutes', 'BAD_DURATION'],
    ['runAfter', -1, 'BAD_DURATION'],
    ['runAfter', new Date('never'), 'BAD_DATE'],
    ['runAfter', new Date('3000-01-01'), 'BAD_DATE'],
    ['timeout', 'soon', 'BAD_DURATION'],
    ['retry', { attempts: 0 }, 'BAD_OPTION'],
    ['retry', { attempts: 2.5 }, 'BAD_OPTION'],
    ['retry', { backoff: 'quadratic' }, 'BAD_OPTION'],
    ['retry', { backoff: () => 5 }, 'BAD_OPTION'],
    ['retry', { jitter: 2 }, 'BAD_OPTION'],
    ['retry', { base: 'x' }, 'BAD_DURATION'],
    ['retry', 5, 'BAD_OPTION'],
    ['requires', { gpu: [true] }, 'BAD_OPTION'],
    ['requires', ['gpu'], 'BAD_OPTION'],
    ['runAt', '5m', 'BAD_OPTION'],
  ])('%s: %j is answered with %s and a hint', async (option, value, code) => {
    const error = await refused((g) => g.enqueue(anything, 1, { [option]: value }))
    expect(error).toMatchObject({ code, hint: expect.any(String) })
  })
})

describe('a definition is refused', () => {
  test.each([
    [{ name: '' }, 'BAD_DEFINITION'],
    [{ name: 'a/b' }, 'BAD_DEFINITION'],
    [{ name: 'a', queue: '?' }, 'BAD_QUEUE'],
    [{ name: 'a', timeout: 'long' }, 'BAD_DURATION'],
    [{ name: 'a', input: { parse() {} } }, 'BAD_DEFINITION'],
    [{ name: 'a', run: 'later' }, 'BAD_DEFINITION'],
    [{ name: 'a', retry: { attempts: -1 } }, 'BAD_OPTION'],
  ])('%j', (definition, code) => {
    expect(() => defineTask(definition as never)).toThrow(expect.objectContaining({ code }))
  })

  test('when two tasks of one engine have the same name', async () => {
    await expect(openTemp({ tasks: [mail, defineTask({ name: 'mail.send' })] })).rejects.toMatchObject({
      code: 'BAD_DEFINITION',
    })
  })

  test('when something with a run is implemented again', () => {
    expect(() => implement(mail, { run: () => {} })).toThrow(
      expect.objectContaining({ code: 'BAD_DEFINITION' }),
    )
  })
})

describe('openGleaner refuses', () => {
  test.each([
    [{ database: 'mysql://x' }, 'BAD_CONFIG'],
    [{ database: '' }, 'BAD_CONFIG'],
    [{}, 'BAD_CONFIG'],
    [{ database: 'sqlite::memory:', durability: 'most' }, 'BAD_OPTION'],
    [{ database: 'sqlite::memory:', payloadLimit: 0 }, 'BAD_OPTION'],
    [{ database: 'sqlite::memory:', databse: 'x' }, 'BAD_OPTION'],
    [{ database: 'sqlite::memory:', timings: { lease: 'x' } }, 'BAD_DURATION'],
    [{ database: 'sqlite:/no/such/folder/app.db' }, 'STORE_FAILED'],
  ])('%j', async (options, code) => {
    const { openGleaner } = await import('../../src/index.ts')
    await expect(openGleaner(options as never)).rejects.toMatchObject({ code, hint: expect.any(String) })
  })
})
