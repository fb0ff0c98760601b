import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, InputError, openGleaner, type Task } from '../../src/index.ts'
import { tempDatabase } from '../temp-database.ts'

const run = () => {}

function refusalOf(options: object): InputError {
  try {
    defineTask({ name: 'nightly', run, ...options })
  } catch (error) {
    if (error instanceof InputError) return error
  }
  throw new Error(`accepted: ${JSON.stringify(options)}`)
}

describe('every', () => {
  test.for([
    '10m',
    '1s',
    '7d',
    1_000,
    '0 3 * * *',
    '*/5 * * * * *',
    '0 9-17 * * MON-FRI',
    '0 0 L * *',
    '@daily',
  ])('%s is a schedule', (every) => {
    defineTask({ name: 'nightly', every, run })
  })

  test.for([
    ['never', 'is not a schedule'],
    ['', 'is not a schedule'],
    ['0 3 * *', 'is not a schedule'],
    ['* * * * * * *', 'is not a schedule'],
    ['60 * * * *', 'is not a schedule'],
    ['0 0 30 2 *', 'never occurs'],
    ['2030-01-01T00:00:00', 'is not a schedule'],
    ['2030-01-01 00:00:00', 'is not a schedule'],
    ['@fortnightly', 'is not a schedule'],
    ['999ms', 'is too short'],
    ['0s', 'is too short'],
    [500, 'is too short'],
    [-1_000, 'is not a schedule'],
    [Number.NaN, 'is not a schedule'],
    [null, 'is not a schedule'],
    [{ cron: '0 3 * * *' }, 'is not a schedule'],
  ] as const)('%j is refused: it %s', ([every, why]) => {
    const error = refusalOf({ every })
    expect(error).toMatchObject({ code: 'BAD_SCHEDULE', hint: expect.stringContaining('10m') })
    expect(error.message).toContain(why)
    expect(error.message).toContain('nightly')
  })

  test('an interval beyond ten years is a unit mistaken for another', () => {
    expect(refusalOf({ every: '99999d' }).code).toBe('BAD_DURATION')
  })
})

describe('timezone', () => {
  test.for(['Europe/Berlin', 'UTC', 'Asia/Kolkata'])('%s is one', (timezone) => {
    defineTask({ name: 'nightly', every: '0 3 * * *', timezone, run })
  })

  test.for(['Mars/Olympus', '', 7, null])('%j is refused', (timezone) => {
    expect(refusalOf({ every: '0 3 * * *', timezone })).toMatchObject({
      code: 'BAD_SCHEDULE',
      hint: expect.stringContaining('Europe/Berlin'),
    })
  })

  test('means nothing to an interval, and nothing without every', () => {
    expect(refusalOf({ every: '10m', timezone: 'UTC' }).code).toBe('BAD_SCHEDULE')
    expect(refusalOf({ timezone: 'UTC' }).code).toBe('BAD_SCHEDULE')
    expect(refusalOf({ everyInput: 1 }).code).toBe('BAD_SCHEDULE')
  })
})

describe('the input of an occurrence', () => {
  async function opening(task: Task) {
    const path = tempDatabase()
    const error = await openGleaner({ database: `sqlite:${path}`, tasks: [task] }).then(
      async (gleaner) => gleaner.close(),
      (error) => error,
    )
    return { error, written: existsSync(path) }
  }
  const input = z.object({ folder: z.string() })

  test('that does not fit its schema is refused before anything is written', async () => {
    const task = defineTask({ name: 'nightly', input, every: '1h', everyInput: { folder: 7 } as never, run })
    expect(await opening(task)).toMatchObject({ error: { code: 'BAD_INPUT' }, written: false })
  })

  test('that is missing is refused', async () => {
    const task = defineTask({ name: 'nightly', input, every: '1h', run })
    expect(await opening(task)).toMatchObject({ error: { code: 'BAD_INPUT' }, written: false })
  })

  test('is checked by an asynchronous schema, too', async () => {
    const slow = z.string().refine(async (text) => text === 'good')
    const task = (everyInput: string) =>
      defineTask({ name: 'nightly', input: slow, every: '1h', everyInput, run })
    expect(await opening(task('bad'))).toMatchObject({ error: { code: 'BAD_INPUT' }, written: false })
    expect(await opening(task('good'))).toMatchObject({ error: undefined, written: true })
  })

  test('has the type of the schema', () => {
    defineTask({ name: 'a', input, every: '1h', everyInput: { folder: 'inbox' }, run })
    // @ts-expect-error a folder is a text
    defineTask({ name: 'b', input, every: '1h', everyInput: { folder: 7 }, run })
    // @ts-expect-error it takes no input
    defineTask({ name: 'c', every: '1h', everyInput: 'inbox', run })
  })
})
