import { describe, expect } from 'vitest'
import { PermanentError } from '../../src/index.ts'
import { files, left, tagFiles, test } from './library.ts'

const RETRY = { attempts: 2, base: '1m', jitter: 0 } as const

describe('done', () => {
  test('that throws fails its row alone', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: RETRY,
      done: (tags, row) => {
        if (row.id === 2) throw new Error('what are these tags?')
        return { tags: String(tags), needs_tagging: 0 }
      },
    })
    const t = await shelf(20, { discoveries: [discovery] })
    await t.advance('1m')
    expect(left(t)).toBe(1)
    expect(await t.discoveries.row('tag-files', '2')).toMatchObject({
      state: 'quarantined',
      attempts: 2,
      error: { kind: 'error', message: 'Error: what are these tags?' },
    })
  })

  test('may say that a result is hopeless', async ({ shelf }) => {
    const done = () => {
      throw new PermanentError('silence')
    }
    const t = await shelf(1, { discoveries: [tagFiles({ done })] })
    await t.runUntilIdle()
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      state: 'quarantined',
      error: { kind: 'permanent', message: 'silence' },
    })
  })

  test.for<[what: string, done: () => unknown, words: string]>([
    ['a promise', () => Promise.reject(new Error('too late')), 'returned a promise'],
    ['nothing', () => undefined, 'returned undefined'],
    ['an array', () => [1], 'returned an array'],
    ['an object in a column', () => ({ tags: {} }), 'tags is an object'],
    ['undefined in a column', () => ({ tags: undefined }), 'tags is undefined'],
    ['a number that is none', () => ({ tags: Number.NaN }), 'tags is NaN'],
    ['a date that is none', () => ({ tags: new Date('x') }), 'tags is an invalid Date'],
    ['a function in a column', () => ({ tags: () => 1 }), 'tags is '],
  ])('that answers with %s fails its row, and says why', async ([, done, words], { shelf }) => {
    const t = await shelf(1, { discoveries: [tagFiles({ retry: { attempts: 1 }, done: done as never })] })
    await t.runUntilIdle()
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({
      state: 'quarantined',
      error: { kind: 'error', message: expect.stringContaining(words) },
    })
  })

  test('that breaks a constraint fails its row alone', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      done: (tags, row) => ({ needs_tagging: 0, tags: String(tags), path: row.id === 2 ? null : row.path }),
    })
    const t = await shelf(5, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(left(t)).toBe(1)
    expect((await t.discoveries.row('tag-files', '2'))?.error?.message).toMatch(/NOT NULL/)
  })

  test('that leaves the row to be done is a failure, not an endless loop', async ({ shelf }) => {
    const t = await shelf(2, {
      discoveries: [tagFiles({ retry: RETRY, done: () => ({ tags: 'x' }) })],
      runLimit: 20,
    })
    await t.advance('1h')
    expect(files(t).map(({ tags }) => tags)).toEqual([null, null])
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'quarantined', attempts: 2 })
  })

  test.for<[what: string, values: Record<string, number>, words: RegExp]>([
    ['a column that is not there', { needs_taging: 0 }, /needs_taging.*path/],
    ['the key', { id: 7, needs_tagging: 0 }, /id/],
  ])(
    'that sets %s pauses the discovery, says why, and costs no attempt',
    async ([, values, words], { shelf }) => {
      let wrong = true
      const done = () => (wrong ? values : { needs_tagging: 0 })
      const t = await shelf(30, { discoveries: [tagFiles({ done, retry: { attempts: 1 } })] })
      const problems: string[] = []
      t.on('problem', ({ message, error }) => problems.push(`${message}: ${error}`))
      await t.runUntilIdle()
      const [discovery] = await t.discoveries.list()
      expect(discovery).toMatchObject({
        name: 'tag-files',
        paused: true,
        pausedReason: expect.stringMatching(words),
      })
      expect(problems.length).toBeGreaterThan(0)
      expect(problems[0]).toContain('discovery tag-files was paused')
      expect(left(t)).toBe(30)
      expect((await t.discoveries.stats('tag-files')).quarantined).toBe(0)
      expect((await t.discoveries.explain('tag-files', '1')).reasons).toContainEqual({
        check: 'discovery-not-paused',
        ok: false,
        detail: expect.stringMatching(words),
        fix: "Fix the cause, then call `gleaner.discoveries.resume('tag-files')`.",
      })
      wrong = false
      await t.discoveries.resume('tag-files')
      await t.runUntilIdle()
      expect(left(t)).toBe(0)
    },
  )
})

describe('ctx.complete', () => {
  test('commits the writes of the handler together with done', async ({ shelf }) => {
    const discovery = tagFiles({
      run: async (row, ctx) =>
        ctx.complete('tagged', (tx) => {
          tx.prepare('INSERT INTO effects (id) VALUES (?)').run(row.id)
        }),
    })
    const t = await shelf(10, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
    expect(files(t)[0]?.tags).toBe('tagged')
    expect(t.db.prepare('SELECT count(*) AS n FROM effects').get().n).toBe(10)
  })

  test('undoes them when they fail, and the row is tried again', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: RETRY,
      run: async (row, ctx) =>
        ctx.complete('tagged', (tx) => {
          tx.prepare('INSERT INTO effects (id) VALUES (?)').run(row.id)
          if (ctx.attempt === 1) throw new Error('broken off half-way')
        }),
    })
    const t = await shelf(1, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(t.db.prepare('SELECT count(*) AS n FROM effects').get().n).toBe(0)
    expect(await t.discoveries.row('tag-files', '1')).toMatchObject({ state: 'backing-off', attempts: 1 })
    await t.advance('1m')
    expect([left(t), t.db.prepare('SELECT count(*) AS n FROM effects').get().n]).toEqual([0, 1])
  })

  test.for([
    ['was edited meanwhile', "UPDATE files SET path = 'new.flac'", 'CLAIM_LOST', 1],
    ['is gone', 'DELETE FROM files', 'CLAIM_LOST', 0],
  ] as const)('undoes them when the row %s', async ([, sql, code, leftBehind], { shelf }) => {
    const codes: unknown[] = []
    const t = await shelf(1, {
      discoveries: [
        tagFiles({
          run: async (row, ctx) => {
            if (codes.length > 0) return 'later'
            t.db.prepare(sql).run()
            try {
              return await ctx.complete('tagged', (tx) => {
                tx.prepare('INSERT INTO effects (id) VALUES (?)').run(row.id)
              })
            } catch (error) {
              codes.push((error as { code: string }).code)
              throw error
            }
          },
        }),
      ],
    })
    await t.runUntilIdle()
    expect(codes).toEqual([code])
    expect(t.db.prepare('SELECT count(*) AS n FROM effects').get().n).toBe(0)
    expect(files(t)).toHaveLength(leftBehind)
    expect(left(t)).toBe(0)
  })

  test('undoes them when done leaves the row to be done', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      done: () => ({ tags: 'x' }),
      run: async (row, ctx) =>
        ctx.complete('tagged', (tx) => {
          tx.prepare('INSERT INTO effects (id) VALUES (?)').run(row.id)
        }),
    })
    const t = await shelf(1, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(t.db.prepare('SELECT count(*) AS n FROM effects').get().n).toBe(0)
    expect((await t.discoveries.row('tag-files', '1'))?.state).toBe('quarantined')
  })
})
