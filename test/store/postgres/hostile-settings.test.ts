import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { WRITABLE } from '../../../src/store/postgres/server/writable.ts'
import { counts } from '../../conformance/world.ts'
import { test } from './place.ts'
import type { PostgresProxy } from './proxy.ts'
import { databaseWith, echo, files, set, TASKS, workThrough } from './work-through.ts'

/** What a server, a database or a role may set: each of them harmed a statement of somebody's. */
const HOSTILE: Record<string, string> = {
  jit: 'on',
  jit_above_cost: '0',
  plan_cache_mode: 'force_custom_plan',
  work_mem: '64kB',
  enable_nestloop: 'off',
  statement_timeout: '1ms',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '1ms',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  bytea_output: 'escape',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  extra_float_digits: '-5',
}

/** Statements that were sent outside of a transaction that first set everything. */
function unprotected({ seen: connections }: PostgresProxy, settings: readonly string[]): string[] {
  const found: string[] = []
  for (const { statements } of connections) {
    let isSet = false
    for (const text of statements) {
      if (/^(BEGIN|COMMIT|ROLLBACK)/.test(text)) isSet = false
      if (settings.every((name) => new RegExp(`(SET LOCAL ${name} |set_config\\('${name}')`).test(text)))
        isSet = true
      const isMeant =
        !/^(BEGIN|COMMIT|ROLLBACK|LISTEN|VACUUM|SET statement_timeout)|idle_session_timeout/.test(text) &&
        // The first words on a new connection: nothing is joined, nothing is written.
        !text.startsWith(WRITABLE)
      if (isMeant && !isSet) found.push(text)
    }
  }
  return found
}

test('an engine works as ever, whatever the server, the database or the role has set', async ({ place }) => {
  const url = await databaseWith(place, HOSTILE)
  const proxy = await place.proxy(url)
  const engine = await place.open({ database: proxy.url, tasks: TASKS, discoveries: [files] })
  const problems: unknown[] = []
  engine.on('problem', (problem) => problems.push(problem))
  await workThrough(place, engine)
  expect(problems).toEqual([])
  const client = await place.client(`${url}?options=-c%20statement_timeout%3D0`)
  expect((await client.query('SELECT note FROM files WHERE id = 2')).rows).toEqual([
    { note: 'read committed' },
  ])
  expect(unprotected(proxy, ['jit', 'plan_cache_mode', 'DateStyle', 'extra_float_digits'])).toEqual([])
})

test('behind a pooler that changes connections, no setting is left behind and none is needed at the start', async ({
  place,
}) => {
  // They hold for the statements that set others: long enough for those.
  const url = await databaseWith(place, { ...HOSTILE, statement_timeout: '5s', lock_timeout: '5s' })
  const proxy = await place.proxy(url)
  const engine = await place.open({
    database: proxy.url,
    tasks: TASKS,
    discoveries: [files],
    postgres: { notify: false },
    timings: { lease: '3s' },
  })
  await workThrough(place, engine)
  await place.until('the keeper renews', () =>
    proxy.seen.some(({ statements }) => statements.some((text) => text.includes('renewals + 1'))),
  )
  const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
  expect(unprotected(proxy, ['jit', ...timeouts])).toEqual([])
  const sent = proxy.seen.flatMap(({ statements }) => statements)
  expect(sent.filter((text) => /^SET (?!LOCAL|TRANSACTION)|^LISTEN|', false\)/.test(text))).toEqual([])
  for (const { settings } of proxy.seen) {
    expect(Object.keys(settings)).toEqual(['user', 'database', 'application_name', 'client_encoding'])
  }
})

test('the connection that listens stays, however soon the server ends idle ones', async ({ place }) => {
  const url = await databaseWith(place, { idle_session_timeout: '300ms' })
  const engine = await place.open({ database: url, tasks: [echo] })
  const client = await place.client(`${url}?options=-c%20idle_session_timeout%3D0`)
  const open = async (): Promise<{ pid: number; query: string }[]> =>
    (await client.query(`SELECT pid, query FROM pg_stat_activity WHERE application_name = 'gleaner'`)).rows
  const first = await open()
  const left = async () => (await open()).filter(({ pid }) => first.some((one) => one.pid === pid))
  await place.until('the others have ended', async () => (await left()).length <= 1)
  expect((await left()).map(({ query }) => query.split(';')[0])).toEqual([`LISTEN "${place.schema}"`])
  expect(await engine.tasks.counts()).toEqual(counts({}))
})

test('a database that accepts no writes is refused, with what to do', async ({ place }) => {
  const url = await databaseWith(place, {})
  const engine = await place.open({ database: url, tasks: [echo] })
  await engine.close()
  await set(await place.client(url), { default_transaction_read_only: 'on' })
  const readOnly = await place.open({ database: url, tasks: [echo] })
  await expect(readOnly.enqueue(echo, 'a')).rejects.toMatchObject({
    code: 'STORE_AWAY',
    message: expect.stringContaining('25006'),
    hint: expect.stringContaining('default_transaction_read_only'),
  })
})

test('a server with no connection left says what to change', async ({ place }) => {
  const role = `few_${randomUUID().replaceAll('-', '')}`
  await place.rows(`CREATE ROLE ${role} LOGIN PASSWORD 'few' SUPERUSER`)
  place.atEnd(() => place.rows(`DROP ROLE ${role}`))
  const url = new URL(await databaseWith(place, {}))
  const database = url.pathname.slice(1)
  await place.rows(`ALTER DATABASE ${database} OWNER TO ${role}`)
  await place.rows(`ALTER ROLE ${role} NOSUPERUSER CONNECTION LIMIT 1`)
  url.username = role
  url.password = 'few'
  await place.client(url.href)
  await expect(place.open({ database: url.href })).rejects.toMatchObject({
    code: 'STORE_BUSY',
    hint: expect.stringMatching(/poolSize.*CONNECTION LIMIT/),
  })
})
