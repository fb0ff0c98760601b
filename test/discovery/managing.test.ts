import { describe, expect } from 'vitest'
import { GleanerError, InputError } from '../../src/index.ts'
import type { TestGleaner } from '../../src/testing/index.ts'
import { left, tagFiles, test } from './library.ts'

const NAME = 'tag-files'

/** Row 1 fails for as long as `broken.yes`. */
function fragile(broken: { yes: boolean }) {
  return tagFiles({
    retry: { attempts: 2, base: '1m', jitter: 0 },
    run: async (row) => {
      if (row.id === 1 && broken.yes) throw new Error('no such codec')
    },
  })
}

async function failedChecks(t: TestGleaner, key: string): Promise<[check: string, fix: string | null][]> {
  const { runnable, reasons } = await t.discoveries.explain(NAME, key)
  const failed = reasons.filter(({ ok }) => !ok)
  expect(runnable).toBe(failed.filter(({ check }) => check !== 'found-by-index').length === 0)
  return failed.map(({ check, fix }) => [check, fix])
}

describe('gleaner.discoveries', () => {
  test('lists what was declared', async ({ shelf }) => {
    const t = await shelf(0, {})
    expect(await t.discoveries.list()).toEqual([
      {
        name: NAME,
        table: 'files',
        key: ['id'],
        where: 'needs_tagging = 1',
        version: null,
        orderBy: null,
        maxAttempts: 3,
        crashLimit: 3,
        paused: false,
        pausedReason: null,
        createIndex: null,
      },
    ])
  })

  test('counts rows by state, and says how fast they are done and how long it takes', async ({ shelf }) => {
    const broken = { yes: true }
    const t = await shelf(61, { discoveries: [fragile(broken)] })
    expect(await t.discoveries.stats(NAME)).toEqual({
      name: NAME,
      waiting: 61,
      claimed: 0,
      backingOff: 0,
      quarantined: 0,
      suspended: 0,
      donePerMinute: 0,
      averageMs: null,
      etaMs: null,
      paused: false,
      pausedReason: null,
      asOf: t.now(),
    })
    await t.runUntilIdle()
    await t.advance('30s')
    const stats = await t.discoveries.stats(NAME)
    expect(stats).toMatchObject({ waiting: 0, claimed: 0, backingOff: 1, quarantined: 0, donePerMinute: 120 })
    expect(stats.averageMs).toBeGreaterThan(0)
    expect(stats.etaMs).toBe(500)
    await t.advance('30s')
    expect(await t.discoveries.stats(NAME)).toMatchObject({ backingOff: 0, quarantined: 1, etaMs: 0 })
    await t.discoveries.pause(NAME)
    expect(await t.discoveries.stats(NAME)).toMatchObject({ paused: true })
  })

  test('lists rows in the order of their keys, by state, page by page', async ({ shelf }) => {
    const t = await shelf(5, { discoveries: [fragile({ yes: true })] })
    const first = await t.discoveries.rows(NAME, { limit: 2 })
    expect(first.items.map(({ key, state }) => [key, state])).toEqual([
      ['1', 'waiting'],
      ['2', 'waiting'],
    ])
    const second = await t.discoveries.rows(NAME, { limit: 3, cursor: first.next })
    expect(second.items.map(({ key }) => key)).toEqual(['3', '4', '5'])
    await t.runUntilIdle()
    const backingOff = await t.discoveries.rows(NAME, { state: 'backing-off' })
    expect(backingOff.items).toEqual([
      {
        key: '1',
        state: 'backing-off',
        attempts: 1,
        crashes: 0,
        error: { kind: 'error', message: 'Error: no such codec', stack: expect.any(String) },
        worker: null,
        since: t.now(),
        nextAt: t.now() + 60_000,
        history: [{ attempt: 1, at: t.now(), outcome: 'error', message: 'Error: no such codec' }],
      },
    ])
    expect((await t.discoveries.rows(NAME, { state: 'waiting' })).items).toEqual([])
  })

  test('retries a row that backs off, at once', async ({ shelf }) => {
    const broken = { yes: true }
    const t = await shelf(1, { discoveries: [fragile(broken)] })
    await t.runUntilIdle()
    broken.yes = false
    await t.discoveries.retry(NAME, '1')
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
  })

  test('releases one quarantined row to try, or all', async ({ shelf }) => {
    const broken = { yes: true }
    const discovery = tagFiles({
      retry: { attempts: 1 },
      run: async () => {
        if (broken.yes) throw new Error('away')
      },
    })
    const t = await shelf(700, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect((await t.discoveries.stats(NAME)).quarantined).toBe(700)
    broken.yes = false
    expect(await t.discoveries.release(NAME, '7')).toBe(1)
    expect(await t.discoveries.release(NAME, '7')).toBe(0)
    await t.runUntilIdle()
    expect(left(t)).toBe(699)
    expect(await t.discoveries.release(NAME)).toBe(699)
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
  })

  test('an edit of a quarantined row releases it', async ({ shelf }) => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      run: async (row) => {
        if (row.path === '1.flac') throw new Error('unreadable')
      },
    })
    const t = await shelf(2, { discoveries: [discovery] })
    await t.runUntilIdle()
    expect(left(t)).toBe(1)
    t.db.prepare("UPDATE files SET path = 'mended.flac' WHERE id = 1").run()
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
  })

  test('pauses: nothing more is claimed, until it is resumed', async ({ shelf }) => {
    const t = await shelf(3, {})
    await t.discoveries.pause(NAME)
    await t.runUntilIdle()
    expect(left(t)).toBe(3)
    expect(await failedChecks(t, '1')).toEqual([
      ['discovery-not-paused', `To resume it, call \`gleaner.discoveries.resume('${NAME}')\`.`],
    ])
    await t.discoveries.resume(NAME)
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
  })

  test.for<[what: string, ask: (t: TestGleaner) => Promise<unknown>, code: string]>([
    ['a discovery nobody declared', (t) => t.discoveries.stats('nobody'), 'UNKNOWN_DISCOVERY'],
    ['a name that is none', (t) => t.discoveries.rows('a/b'), 'UNKNOWN_DISCOVERY'],
    ['a state that is none', (t) => t.discoveries.rows(NAME, { state: 'done' as never }), 'BAD_OPTION'],
    ['an option that is none', (t) => t.discoveries.rows(NAME, { where: '1' } as never), 'BAD_OPTION'],
    ['a page that is too long', (t) => t.discoveries.rows(NAME, { limit: 1_001 }), 'BAD_OPTION'],
    [
      'an option that row does not have',
      (t) => t.discoveries.row(NAME, '1', { all: true } as never),
      'BAD_OPTION',
    ],
    ['a row that is not there', (t) => t.discoveries.retry(NAME, '77'), 'ROW_GONE'],
    ['the release of a row that is not there', (t) => t.discoveries.release(NAME, '77'), 'ROW_GONE'],
    ['the pause of what nobody declared', (t) => t.discoveries.pause('nobody'), 'UNKNOWN_DISCOVERY'],
  ])('refuses %s', async ([, ask, code], { shelf }) => {
    const t = await shelf(1, {})
    const error = await ask(t).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(GleanerError)
    expect(error).toMatchObject({ code, hint: expect.any(String) })
  })

  test('refuses to retry a row that is being worked on', async ({ shelf }) => {
    let answer: unknown
    const t = await shelf(1, {
      discoveries: [
        tagFiles({
          run: async () => {
            answer = await t.discoveries.retry(NAME, '1').catch((error: unknown) => error)
            expect(await t.discoveries.row(NAME, '1')).toMatchObject({
              state: 'claimed',
              worker: expect.stringContaining('worker:'),
              since: t.now(),
            })
            expect(await failedChecks(t, '1')).toEqual([['not-held', 'Wait until it ends.']])
          },
        }),
      ],
    })
    await t.runUntilIdle()
    expect(answer).toMatchObject({ code: 'ROW_STATE' })
    expect(left(t)).toBe(0)
  })
})

describe('explain', () => {
  test('says that a row is not there, or needs no work', async ({ shelf }) => {
    const t = await shelf(1, {})
    await t.runUntilIdle()
    expect(await failedChecks(t, '77')).toEqual([['row-exists', expect.stringContaining('Check the key')]])
    expect(await failedChecks(t, '1')).toEqual([['needs-work', expect.any(String)]])
  })

  test('says what is missing, step by step, until the row is done', async ({ shelf }) => {
    const broken = { yes: true }
    const t = await shelf(1, { discoveries: [fragile(broken)] })
    expect(await failedChecks(t, '1')).toEqual([
      [
        'worker-serves-discovery',
        `Start one: add "${NAME}" to the \`discoveries\` of a pool in the config and restart \`gleaner start\`, or call \`gleaner.work({ discoveries: ['${NAME}'] })\`.`,
      ],
    ])
    await t.pause()
    await t.runUntilIdle()
    expect(await failedChecks(t, '1')).toEqual([['not-paused', 'To resume, call `gleaner.resume()`.']])
    await t.resume()
    expect(await failedChecks(t, '1')).toEqual([])
    await t.runUntilIdle()
    expect(await failedChecks(t, '1')).toEqual([
      [
        'not-backing-off',
        expect.stringContaining(
          `run \`gleaner discoveries retry ${NAME} 1\`, or discoveries.retry('${NAME}', "1") in code`,
        ),
      ],
    ])
    await t.advance('1m')
    expect(await failedChecks(t, '1')).toEqual([
      [
        'not-quarantined',
        expect.stringContaining(
          `\`gleaner discoveries release ${NAME} 1\`, or discoveries.release('${NAME}', "1") in code`,
        ),
      ],
    ])
    broken.yes = false
    await t.discoveries.release(NAME)
    await t.runUntilIdle()
    expect(await failedChecks(t, '1')).toEqual([['needs-work', expect.any(String)]])
  })

  test('prints the index that is missing, and a warning did when it was opened', async ({ shelf }) => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const t = await shelf(1, { setup: (db) => db.exec('DROP INDEX files_to_tag') })
    t.work()
    await t.pause()
    await t.runUntilIdle()
    await t.resume()
    // It holds up nobody: nothing else fails, and the row can run.
    expect(await failedChecks(t, '1')).toEqual([['found-by-index', expect.stringContaining('CREATE INDEX')]])
    const [[, createIndex]] = (await failedChecks(t, '1')) as [[string, string]]
    expect((await warned).message).toContain(createIndex)
    t.db.exec(createIndex!)
    await t.runUntilIdle()
    expect(left(t)).toBe(0)
  })
})

describe('a declaration that does not fit the database is refused when Gleaner is opened', () => {
  test.for<[what: string, options: object, words: string]>([
    ['a table that is not there', { table: 'film' }, 'film'],
    ['a column that is not there', { key: 'uid' }, 'id, path, needs_tagging'],
    ['a condition that does not parse', { where: 'needs_tagging =' }, 'where'],
    ['a key that is not unique', { key: 'path' }, 'unique'],
  ])('%s', async ([, options, words], { shelf }) => {
    const opening = shelf(1, { discoveries: [tagFiles(options)] })
    const error = await opening.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(InputError)
    expect(error).toMatchObject({ code: 'BAD_DISCOVERY', message: expect.stringContaining(words) })
  })

  test('two of the same name, or what is no discovery', async ({ shelf }) => {
    await expect(shelf(1, { discoveries: [tagFiles(), tagFiles()] })).rejects.toThrow('two discoveries')
    await expect(shelf(1, { discoveries: [{ name: 'x' }] })).rejects.toThrow('is not a discovery')
  })
})
