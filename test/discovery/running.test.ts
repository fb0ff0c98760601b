import { describe, expect } from 'vitest'
import { z } from 'zod'
import { type Events, PermanentError, RetryLater } from '../../src/index.ts'
import { addFiles, files, left, tagFiles, test } from './library.ts'

describe('rows that need work', () => {
  test('are found, run and marked, each once', async ({ shelf }) => {
    const seen: number[] = []
    const discovery = tagFiles({
      run: async (row) => {
        seen.push(row.id)
        return `tags of ${row.path}`
      },
    })
    const t = await shelf(200, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
    expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
    expect(files(t)[0]).toEqual({ id: 1, needs_tagging: 0, tags: 'tags of 1.flac' })
    await t.runUntilIdle()
    expect(seen).toHaveLength(200)
  })

  test('are done again when they are marked again, and nobody enqueues anything', async ({ shelf }) => {
    const runs: number[] = []
    const t = await shelf(3, {
      discoveries: [tagFiles({ run: async (row) => runs.push(row.id), done: () => ({ needs_tagging: 0 }) })],
    })
    await t.runUntilIdle()
    t.db.prepare('UPDATE files SET needs_tagging = 1 WHERE id = 2').run()
    addFiles(t.db, 1, 4)
    await t.runUntilIdle()
    expect(runs).toEqual([1, 2, 3, 2, 4])
    expect(left(t)).toBe(0)
  })

  test('are done again when the version in the condition is raised', async ({ shelf }) => {
    const versioned = (version: number) =>
      tagFiles({
        where: `needs_tagging = 1 OR tagged_version < ${version}`,
        done: () => ({ needs_tagging: 0, tagged_version: version }),
      })
    const t = await shelf(5, { discoveries: [versioned(3)] })
    await t.runUntilIdle()
    expect(t.db.prepare('SELECT DISTINCT tagged_version AS v FROM files').all()).toEqual([{ v: 3 }])
    t.db.prepare('UPDATE files SET tagged_version = 2 WHERE id < 3').run()
    await t.runUntilIdle()
    expect(t.db.prepare('SELECT DISTINCT tagged_version AS v FROM files').all()).toEqual([{ v: 3 }])
  })

  test('give the handler a context like a task: id, attempt, fence, enqueue, progress, log', async ({
    shelf,
  }) => {
    const told: unknown[] = []
    let fence = 0
    const discovery = tagFiles({
      run: async (_row, ctx) => {
        told.push([ctx.id, ctx.name, ctx.attempt, ctx.signal.aborted])
        fence = ctx.fence
        await ctx.progress(0.5, 'half way')
        ctx.log.info('tagging', { with: 'care' })
      },
    })
    const t = await shelf(1, { discoveries: [discovery] })
    t.on('progress', ({ id, queue, fraction, message }) => told.push([id, queue, fraction, message]))
    t.on('log', ({ id, level, message, details }) => told.push([id, level, message, details]))
    await t.runUntilIdle()
    expect(told).toEqual([
      ['tag-files/1', 'tag-files', 1, false],
      ['tag-files/1', null, 0.5, 'half way'],
      ['tag-files/1', 'info', 'tagging', { with: 'care' }],
    ])
    expect(fence).toBeGreaterThan(0)
  })
})

describe('a row whose run fails', () => {
  const failing = (id: number, error: () => unknown) =>
    tagFiles({
      retry: { attempts: 2, base: '1m', jitter: 0 },
      run: async (row) => {
        if (row.id === id) throw error()
      },
    })

  test('backs off while all others go on, and is quarantined after its attempts', async ({ shelf }) => {
    const t = await shelf(3, { discoveries: [failing(1, () => new Error('no such codec'))] })
    await t.runUntilIdle()
    expect(left(t)).toBe(1)
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      key: '1',
      state: 'backing-off',
      attempts: 1,
      nextAt: t.now() + 60_000,
      error: { kind: 'error', message: 'Error: no such codec' },
    })
    await t.advance('1m')
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'quarantined', attempts: 2 })
    await t.advance('1d')
    expect((await t.discoveries.row('tag-files', '1'))?.attempts).toBe(2)
  })

  test('for good is quarantined at once', async ({ shelf }) => {
    const t = await shelf(2, { discoveries: [failing(1, () => new PermanentError('not music'))] })
    await t.runUntilIdle()
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      state: 'quarantined',
      attempts: 1,
      error: { kind: 'permanent', message: 'not music' },
    })
    expect(left(t)).toBe(1)
  })

  test('with RetryLater has not failed: it comes back then, with all its attempts', async ({ shelf }) => {
    let calls = 0
    const discovery = tagFiles({
      run: async (_row, ctx) => {
        calls += 1
        expect(ctx.attempt).toBe(1)
        if (calls < 4) throw new RetryLater('10s')
      },
      retry: { attempts: 2 },
    })
    const t = await shelf(1, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(calls).toBe(1)
    await t.advance('30s')
    expect([calls, left(t)]).toEqual([4, 0])
  })

  test('because it does not fit its schema is quarantined at once, with the reason', async ({ shelf }) => {
    const discovery = tagFiles({
      row: z.object({ id: z.number().max(2), path: z.string() }) as never,
      run: async (row) => Object.keys(row),
      done: (columns) => ({ needs_tagging: 0, tags: String(columns) }),
    })
    const t = await shelf(3, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(files(t)).toMatchObject([{ tags: 'id,path' }, { tags: 'id,path' }, { tags: null }])
    expect(await t.discoveries.row('tag-files', '3')).toMatchObject({
      state: 'quarantined',
      attempts: 1,
      error: {
        kind: 'permanent',
        message: expect.stringContaining('row tag-files/3 does not fit its schema'),
      },
    })
  })

  test('because it takes longer than its time-out says so', async ({ shelf }) => {
    const t = await shelf(2, {
      discoveries: [
        tagFiles({
          timeout: '5s',
          retry: { attempts: 1 },
          run: (row, ctx) => (row.id === 1 ? t.sleep('1h', { signal: ctx.signal }) : Promise.resolve()),
        }),
      ],
    })
    await t.advance('5s')
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      state: 'quarantined',
      error: { kind: 'timeout' },
    })
    expect(left(t)).toBe(1)
  })

  test('is told to listeners and hooks as a task is', async ({ shelf }) => {
    const told: unknown[] = []
    const t = await shelf(1, {
      discoveries: [failing(1, () => new Error('no'))],
      hooks: {
        onFailure: ({ message }, { id, name, queue, attempt, final }) =>
          void told.push([message, id, name, queue, attempt, final]),
        aroundRun: (ctx, next) => {
          told.push(`around ${ctx.id}`)
          return next()
        },
      },
    })
    for (const event of ['started', 'retrying', 'failed'] as const)
      t.on(event, ({ id, maxAttempts }) => told.push([event, id, maxAttempts]))
    await t.advance('1m')
    expect(told).toEqual([
      ['started', 'tag-files/1', 2],
      'around tag-files/1',
      ['Error: no', 'tag-files/1', 'tag-files', null, 1, false],
      ['retrying', 'tag-files/1', 2],
      ['started', 'tag-files/1', 2],
      'around tag-files/1',
      ['Error: no', 'tag-files/1', 'tag-files', null, 2, true],
      ['failed', 'tag-files/1', 2],
    ])
  })
})

describe('a row that somebody touches while it is worked on', () => {
  const meanwhile = (sql: string, runs: string[] = []) => ({
    runs,
    discovery: (db: () => { prepare(sql: string): { run(): unknown } }) =>
      tagFiles({
        run: async (row) => {
          runs.push(row.path)
          if (runs.length === 1) db().prepare(sql).run()
        },
      }),
  })

  test.for([
    ['edited', "UPDATE files SET path = 'new.flac'", ['1.flac', 'new.flac'], { changed: 1, completed: 1 }, 0],
    ['deleted', 'DELETE FROM files', ['1.flac'], { gone: 1 }, 0],
    ['invalidated', 'UPDATE files SET needs_tagging = 0', ['1.flac'], { gone: 1 }, 0],
  ] as const)('%s: nothing is marked done that is not', async ([, sql, expected, events], { shelf }) => {
    const { runs, discovery } = meanwhile(sql)
    const t = await shelf(1, { discoveries: [discovery(() => t.db)] })
    const told: Partial<Record<keyof Events, number>> = {}
    for (const event of ['completed', 'changed', 'gone', 'failed', 'claim-lost'] as const)
      t.on(event, () => {
        told[event] = (told[event] ?? 0) + 1
      })
    await t.runUntilIdle()
    expect(runs).toEqual(expected)
    expect(told).toEqual(events)
    expect(t.db.prepare('SELECT count(*) AS n FROM gleaner_claims').get().n).toBe(0)
    expect(left(t)).toBe(0)
  })

  test('by its own handler, again and again, backs off and is asked about', async ({ shelf }) => {
    const t = await shelf(2, {
      discoveries: [
        tagFiles({
          run: async (row) => {
            if (row.id === 1) t.db.prepare("UPDATE files SET path = path || '!' WHERE id = 1").run()
          },
        }),
      ],
    })
    const problems: string[] = []
    t.on('problem', ({ message, error }) => problems.push(`${message}: ${error}`))
    await t.runUntilIdle()
    expect(left(t)).toBe(1)
    expect(problems).toEqual([
      expect.stringMatching(/tag-files\/1 was edited during 3 runs in a row.*if the handler itself writes/),
    ])
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'backing-off', attempts: 0 })
  })
})
