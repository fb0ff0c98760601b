import { describe, expect } from 'vitest'
import { z } from 'zod'
import { type Context, defineDiscovery, defineTask, InputError, StepTimeout } from '../../src/index.ts'
import type { NewStep } from '../../src/store/ports/steps.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { Cursors } from '../../src/worker/steps/cursors.ts'
import type { StepAttempt } from '../../src/worker/steps/step-attempt.ts'
import { test } from '../testing/open-test.ts'

/** A task whose handler is given, and the names of what it did, in order. */
function recorded(run: (did: (what: string) => void, ctx: Context) => Promise<unknown>, retry = {}) {
  const done: string[] = []
  const task = defineTask({
    name: 'ship',
    retry: { attempts: 3, base: '1s', jitter: 0, ...retry },
    run: (_input, ctx) => run((what) => done.push(what), ctx),
  })
  return { task, done }
}

describe('a step', () => {
  test('that was kept is not done again by the next attempt, which gets its result', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const paid = await ctx.step('charge', () => {
        did('charge')
        return { cents: 5, at: new Date(0) }
      })
      did(`paid ${paid.cents} at ${paid.at}`)
      if (ctx.attempt === 1) throw new Error('after the charge')
      return paid.cents
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('10s')
    expect(await handle.result()).toBe(5)
    const paid = 'paid 5 at 1970-01-01T00:00:00.000Z'
    expect(done).toEqual(['charge', paid, paid])
  })

  test('of a name that is used again is numbered', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const sums: number[] = []
      for (const n of [1, 2, 3])
        sums.push(
          await ctx.step('add', () => {
            did(`add ${n}`)
            if (n === 3 && ctx.attempt === 1) throw new Error('no three yet')
            return n * 10
          }),
        )
      return sums
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('10s')
    expect(await handle.result()).toEqual([10, 20, 30])
    expect(done).toEqual(['add 1', 'add 2', 'add 3', 'add 3'])
    expect(await t.tasks.steps(handle.id)).toMatchObject([
      { name: 'add', number: 1, kind: 'result', value: 10, attempt: 1 },
      { name: 'add', number: 2, kind: 'result', value: 20, attempt: 1 },
      { name: 'add', number: 3, kind: 'result', value: 30, attempt: 2 },
    ])
  })

  test('with retry is called again before the attempt fails, and one with a timeout fails in time', async ({
    open,
  }) => {
    const { task, done } = recorded(
      async (did, ctx) => {
        await ctx.step(
          'call',
          ({ attempt }) => {
            did(`call ${attempt}`)
            if (attempt < 3) throw new Error('busy')
          },
          { retry: { attempts: 3, base: '1s', jitter: 0 } },
        )
        const slow = ctx.step('slow', ({ signal }) => t.sleep('1h', { signal }), { timeout: '5s' })
        await slow.catch((error) => {
          did(`${error instanceof StepTimeout} ${error.message}`)
        })
      },
      { attempts: 1 },
    )
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1m')
    await handle.result()
    expect(done.slice(0, 3)).toEqual(['call 1', 'call 2', 'call 3'])
    expect(done[3]).toMatch(/^true step slow took longer than its time-out of 5000 ms/)
  })

  test('whose kept result does not fit its schema any more fails for good, and names the step', async ({
    open,
  }) => {
    let schema: z.ZodType = z.object({ id: z.number() })
    const { task } = recorded(async (_did, ctx) => {
      await ctx.step('find', () => ({ id: 1 }), { schema })
      if (ctx.attempt === 1) {
        schema = z.object({ id: z.string() })
        throw new Error('deployed meanwhile')
      }
    })
    const t = await open({ tasks: [task] })
    const { id } = await t.enqueue(task)
    await t.advance('1m')
    expect(await t.tasks.get(id)).toMatchObject({
      status: 'failed',
      attempts: 2,
      error: {
        kind: 'permanent',
        message: expect.stringMatching(/kept result of step find does not fit its schema: .*id/),
      },
    })
  })

  test('whose result is too large, or no JSON, fails for good', async ({ open }) => {
    const results = { long: 'x'.repeat(101), wrong: () => {} }
    const make = defineTask({
      name: 'make',
      input: z.enum(['long', 'wrong']),
      run: (what, ctx) => ctx.step('make', () => results[what] as string),
    })
    const t = await open({ tasks: [make], limits: { stepBytes: 100 } })
    const ids = [await t.enqueue(make, 'long'), await t.enqueue(make, 'wrong')].map(({ id }) => id)
    await t.runUntilIdle()
    const errors = await Promise.all(ids.map(async (id) => (await t.tasks.get(id))?.error))
    expect(errors.map((error) => error?.kind)).toEqual(['permanent', 'permanent'])
    expect(errors[0]?.message).toContain('result of step make is 103 bytes of JSON; the limit is 100')
  })

  test('that the code no longer comes to is an event and a line of the log, and harms nothing', async ({
    open,
  }) => {
    const { task } = recorded(async (_did, ctx) => {
      if (ctx.attempt === 1) {
        await ctx.step('old', () => 1)
        throw new Error('deployed meanwhile')
      }
      await ctx.step('new', () => 2)
    })
    const t = await open({ tasks: [task] })
    const told: unknown[] = []
    t.on('steps-unvisited', ({ id, steps }) => told.push([id, steps]))
    const handle = await t.enqueue(task)
    await t.advance('1m')
    await handle.result()
    expect(told).toEqual([[handle.id, ['old']]])
    const { items } = await t.tasks.logs(handle.id)
    expect(items).toMatchObject([{ level: 'warn', details: { steps: ['old'] } }])
  })

  test('that is atomic commits its writes and its result together, once', async ({ open }) => {
    const { task } = recorded(async (_did, ctx) => {
      const write = (tx: any) =>
        tx.prepare('INSERT INTO bookings (attempt) VALUES (?)').run(ctx.attempt).changes
      const booked = await ctx.step('book', write, { atomic: true })
      if (ctx.attempt === 1) throw new Error('after the booking')
      return booked
    })
    const t = await open({ tasks: [task], setup: (db) => db.exec('CREATE TABLE bookings (attempt INTEGER)') })
    const handle = await t.enqueue(task)
    await t.advance('1m')
    expect(await handle.result()).toBe(1)
    expect(t.db.prepare('SELECT attempt FROM bookings').all()).toEqual([{ attempt: 1 }])
  })

  test('in a transaction enqueues with it: when its function throws, there is no task', async ({ open }) => {
    const follower = defineTask({ name: 'follower', run: async () => {} })
    const { task } = recorded(async (_did, ctx) => {
      await ctx.step(
        'book',
        () => {
          void ctx.enqueue(follower)
          if (ctx.attempt === 1) throw new Error('rolled back')
        },
        { atomic: true },
      )
    })
    const t = await open({ tasks: [task, follower] })
    await t.enqueue(task)
    await t.advance('1m')
    expect(await t.completed(follower)).toHaveLength(1)
  })

  test.for<[what: string, call: (ctx: Context) => unknown, message: RegExp]>([
    ['an empty name', (ctx) => ctx.step('', () => 1), /a step with the name "" is not possible/],
    ['no function', (ctx) => ctx.step('a', 5 as never), /step a: 5 is not a function/],
    ['a misspelled option', (ctx) => ctx.step('a', () => 1, { retries: {} } as never), /retries.*retry/],
    [
      'an atomic step with a timeout',
      (ctx) => ctx.step('a', () => 1, { atomic: true, timeout: '1s' }),
      /an atomic step has no timeout/,
    ],
    ['no duration', (ctx) => ctx.sleep('a', 'soon' as never), /soon/],
    ['no date', (ctx) => ctx.sleepUntil(new Date('x')), /is not a date/],
  ])('with %s is refused', async ([, call, message], { open }) => {
    let refusal: unknown
    const { task } = recorded(async (_did, ctx) => {
      refusal = await Promise.resolve(call(ctx)).catch((error) => error)
    })
    const t = await open({ tasks: [task] })
    await t.enqueue(task)
    await t.runUntilIdle()
    expect(refusal).toBeInstanceOf(InputError)
    expect((refusal as Error).message).toMatch(message)
  })
})

describe('a cursor', () => {
  test('is where the next attempt goes on', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      await ctx.step('import', async ({ cursor, save }) => {
        for (let row = (cursor ?? 0) + 1; row <= 6; row++) {
          did(`row ${row}`)
          if (row === 4 && ctx.attempt === 1) throw new Error('bad row')
          await save(row)
        }
      })
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1m')
    await handle.result()
    expect(done).toEqual(['row 1', 'row 2', 'row 3', 'row 4', 'row 4', 'row 5', 'row 6'])
    expect(await t.tasks.steps(handle.id)).toMatchObject([{ name: 'import', kind: 'result' }])
  })

  test('is where the next call of the same attempt goes on, too', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const importing = ctx.step(
        'import',
        async ({ attempt, cursor, save }) => {
          for (let row = (cursor ?? 0) + 1; row <= 3; row++) {
            did(`row ${row}`)
            if (row === 2 && attempt === 1) throw new Error('busy')
            await save(row)
          }
        },
        { retry: { attempts: 2, base: '1s', jitter: 0 } },
      )
      await importing
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1m')
    await handle.result()
    expect(done).toEqual(['row 1', 'row 2', 'row 2', 'row 3'])
  })

  test('that is being saved never takes the place of the result', async () => {
    const order: string[] = []
    const under: { way?: () => void } = {}
    const cursors = new Cursors({
      clock: new ManualClock(),
      steps: {
        async keepSteps() {
          await new Promise<void>((resolve) => {
            under.way = resolve
          })
          order.push('cursor')
          return []
        },
      },
      session: () => '1',
      lose: () => {},
    })
    const attempt = { id: '1', context: {} } as StepAttempt
    const step = { claim: { id: '1', fence: 1 }, name: 'import', number: 1 } as NewStep
    void cursors.save(attempt, step)
    const flushed = cursors.flush()
    await Promise.resolve()
    const forgotten = cursors.forget(attempt, 'import', 1).then(() => order.push('result'))
    under.way?.()
    await Promise.all([flushed, forgotten])
    expect(order).toEqual(['cursor', 'result'])
  })

  test('can be seen while its loop runs', async ({ open }) => {
    const { task } = recorded(async (_did, ctx) => {
      await ctx.step('import', async ({ save }) => {
        await save({ page: 7 })
        await t.sleep('1m')
      })
    })
    const t = await open({ tasks: [task] })
    const { id } = await t.enqueue(task)
    await t.advance('1s')
    expect(await t.tasks.steps(id)).toMatchObject([{ name: 'import', kind: 'cursor', value: { page: 7 } }])
    await t.advance('2m')
  })
})

describe('a sleep', () => {
  test('holds no slot and charges no attempt, and neither catch nor finally runs', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      try {
        await ctx.step('charge', () => did('charge'))
        await ctx.sleep('cool-off', '3d')
        did('awake')
      } catch {
        did('catch')
      } finally {
        did('finally')
      }
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1d')
    expect(done).toEqual(['charge'])
    expect(await t.tasks.get(handle.id)).toMatchObject({ status: 'scheduled', attempts: 0 })
    expect(await t.tasks.steps(handle.id)).toMatchObject([
      { name: 'charge' },
      { name: 'cool-off', kind: 'sleep', until: expect.any(Number) },
    ])
    await t.advance('2d')
    await handle.result()
    expect(done).toEqual(['charge', 'awake', 'finally'])
    expect((await t.tasks.get(handle.id))?.attempts).toBe(1)
  })

  test('until a date ends then, one in the past at once, and each of a loop by itself', async ({ open }) => {
    const times: number[] = []
    const { task } = recorded(async (_did, ctx) => {
      await ctx.sleepUntil(new Date(0))
      for (let n = 0; n < 3; n++) await ctx.sleep('again', '1h')
      await ctx.sleepUntil('noon', new Date(start + 12 * 3_600_000))
      times.push(t.now() - start)
    })
    const t = await open({ tasks: [task] })
    const start = t.now()
    const handle = await t.enqueue(task)
    await t.advance('1d')
    await handle.result()
    expect(times).toEqual([12 * 3_600_000])
  })

  test('waits for steps that still run, so that none is done twice', async ({ open }) => {
    const { task, done } = recorded(async (did, ctx) => {
      const slow = ctx.step('slow', async () => {
        did('slow')
        await t.sleep('10s')
        return 1
      })
      await Promise.all([slow, ctx.sleep('nap', '1s')])
    })
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1m')
    await handle.result()
    expect(done).toEqual(['slow'])
  })

  test('of a task that is cancelled is over', async ({ open }) => {
    const { task } = recorded(async (_did, ctx) => ctx.sleep('long', '30d'))
    const t = await open({ tasks: [task] })
    const handle = await t.enqueue(task)
    await t.advance('1h')
    await handle.cancel()
    await t.advance('60d')
    expect((await t.tasks.get(handle.id))?.status).toBe('cancelled')
  })
})

describe('a row', () => {
  const files = 'CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, needs INTEGER)'

  test('goes on behind its steps, an edit drops them, and completion removes them', async ({ open }) => {
    const done: string[] = []
    const tag = defineDiscovery({
      name: 'tag',
      table: 'files',
      key: 'id',
      where: 'needs = 1',
      row: z.object({ id: z.number(), path: z.string() }),
      retry: { attempts: 5, base: '1m', jitter: 0 },
      run: async ({ path }, ctx) => {
        const length = await ctx.step('measure', () => {
          done.push(`measure ${path}`)
          return path.length
        })
        if (done.length < 2) throw new Error('not yet')
        await ctx.sleep('rest', '1h')
        done.push(`tag ${length}`)
        return length
      },
      done: () => ({ needs: 0 }),
    })
    const t = await open({
      discoveries: [tag],
      setup: (db) => db.exec(`${files}; INSERT INTO files VALUES (1, 'abc', 1)`),
    })
    await t.advance('30s')
    expect(done).toEqual(['measure abc'])
    await t.advance('5m')
    expect(done).toEqual(['measure abc'])
    t.db.exec(`UPDATE files SET path = 'abcdef'`)
    await t.advance('10m')
    expect(done).toEqual(['measure abc', 'measure abcdef'])
    expect(await t.discoveries.steps('tag', '1')).toMatchObject([
      { name: 'measure', value: 6 },
      { name: 'rest', kind: 'sleep' },
    ])
    await t.advance('2h')
    expect(done).toEqual(['measure abc', 'measure abcdef', 'tag 6'])
    expect(t.db.prepare('SELECT needs FROM files').all()).toEqual([{ needs: 0 }])
    expect(await t.discoveries.steps('tag', '1')).toEqual([])
  })
})
