import { describe, expect, onTestFinished, test } from 'vitest'
import { createApi } from '../../src/http/index.ts'
import { defineDiscovery, openGleaner } from '../../src/index.ts'
import { BOTH } from '../torture/ground/both.ts'
import { LOCAL, nightly, plain } from './server.ts'

const TODO = 'todo integer NOT NULL, rank integer'
const TABLES: Record<string, string> = {
  numbers: `id bigint NOT NULL PRIMARY KEY, ${TODO}`,
  small: `id smallint NOT NULL PRIMARY KEY, ${TODO}`,
  words: `id text NOT NULL PRIMARY KEY, ${TODO}`,
  pairs: `a text NOT NULL, b integer NOT NULL, ${TODO}, PRIMARY KEY (a, b)`,
}
const discoveryOf = (name: string, table: string, key: string | string[], orderBy?: string) =>
  defineDiscovery({
    name,
    table,
    key,
    where: 'todo = 1',
    ...(orderBy === undefined ? {} : { orderBy }),
    run: async () => {},
    done: () => ({ todo: 0 }),
  })

/** What may stand where a key, or the place in a cursor, is expected. */
const TEXTS = [
  'one',
  '1',
  '01',
  ' 1',
  '1e3',
  '1.5',
  '-1',
  '0x10',
  '99999999999999999999',
  '-99999999999999999999999999',
  'NaN',
  'null',
  'true',
  '',
  ' ',
  '"',
  '"a"',
  "'",
  "';--",
  '[',
  '[]',
  '[1',
  '["a"]',
  '["a",1]',
  '["a",1,2]',
  '["a","b"]',
  '[1,"a"]',
  '["a",1e400]',
  '["a",99999999999999999999]',
  '["a",null]',
  '[null,null]',
  '[null,"a",1]',
  '[1,"a",1]',
  '["x","a",1]',
  '["a",1.5]',
  '["a",{}]',
  '["a",[1]]',
  '[["a"],1]',
  '{"0":"a","1":1}',
  '{',
  '{}',
  '"\\ud800"',
  '["\\ud800",1]',
  '["\\u0000",1]',
  '["a\\u0000b",1]',
  '\\',
  '\\x00',
  '$[0]',
  '%',
  '\u202e',
  '\ud83d',
  'é',
  'x'.repeat(490),
  '['.repeat(490),
]
const NUMBERS = [0, -1, 1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 53, 1e300]
const asCursor = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const CURSORS = [
  'x',
  '-',
  ...TEXTS.flatMap((place) => [asCursor({ place }), asCursor(place)]).filter((cursor) => cursor !== ''),
  ...NUMBERS.flatMap((n) => [[n], [n, n], [n, 1], [1, n], [n, n, n], [n, 1, 1]]).map(asCursor),
  ...[null, [], [null], ['1'], ['1', '1'], [[1], 1], {}, { place: 1 }, { place: null }, { place: ['a'] }].map(
    asCursor,
  ),
]

const TORTURE = process.env.GLEANER_TORTURE === '1'

describe.each(BOTH)('on %s', (database, openGround) => {
  // In the ordinary run some of them; each kind of question gets others.
  let turn = 0
  const isAsked = () => TORTURE || turn++ % (database === 'SQLite' ? 2 : 7) === 0

  test('odd keys and cursors are refused or find nothing, and no answer holds words of the database', async () => {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    for (const [name, columns] of Object.entries(TABLES))
      await ground.rows(`CREATE TABLE ${name} (${columns})`)
    const discoveries = [
      discoveryOf('numbers', 'numbers', 'id'),
      discoveryOf('small', 'small', 'id'),
      discoveryOf('words', 'words', 'id'),
      discoveryOf('pairs', 'pairs', ['a', 'b']),
      discoveryOf('ordered', 'pairs', ['a', 'b'], 'rank DESC'),
    ]
    const gleaner = await openGleaner({ database: ground.database, tasks: [plain, nightly], discoveries })
    const problems: unknown[] = []
    gleaner.on('problem', ({ error }) => problems.push(error))
    const api = createApi(gleaner, { local: true })
    onTestFinished(async () => {
      api.close()
      await gleaner.close()
    })
    const { id } = await gleaner.enqueue(plain)
    const wrong: string[] = []
    let sent = 0
    const ask = async (method: string, path: string) => {
      sent += 1
      const request = new Request(`http://localhost/api/v1${path}`, {
        method,
        headers: { origin: 'http://localhost' },
      })
      const response = await api.fetch(request, LOCAL)
      const text = await response.text()
      const leaks =
        /SQL|syntax|jsonb?\b.*path|malformed|operator|relation|invalid input/i.test(text) &&
        !text.includes('openapi.json')
      if (response.status >= 500 || (leaks && response.status >= 400))
        wrong.push(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`)
    }
    for (const { name } of await gleaner.discoveries.list()) {
      for (const text of TEXTS) {
        if (!isAsked()) continue
        const key = encodeURIComponent(text.toWellFormed())
        for (const [method, verb] of [
          ['GET', ''],
          ['GET', '/explain'],
          ['POST', '/retry'],
          ['POST', '/release'],
        ] as const)
          await ask(method, `/discoveries/${name}/rows/${key}${verb}`)
      }
      for (const cursor of CURSORS) {
        if (isAsked()) await ask('GET', `/discoveries/${name}/rows?cursor=${cursor}`)
        for (const state of ['claimed', 'quarantined'])
          if (isAsked()) await ask('GET', `/discoveries/${name}/rows?cursor=${cursor}&state=${state}`)
      }
    }
    const listings = [
      '/tasks?',
      '/tasks?status=queued&',
      '/tasks?status=completed&',
      '/actions?',
      '/health/history?',
      `/tasks/${id}/logs?`,
    ]
    for (const cursor of CURSORS) {
      if (!isAsked()) continue
      for (const listing of listings) await ask('GET', `${listing}cursor=${cursor}`)
    }
    expect(wrong.slice(0, 10), `${wrong.length} of ${sent}`).toEqual([])
    expect(problems).toEqual([])
  }, 120_000)
})
