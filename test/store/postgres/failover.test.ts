import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineTask, type Gleaner, type GleanerOptions, openGleaner } from '../../../src/index.ts'
import { readServerUrl } from '../../../src/store/postgres/server/server-url.ts'
import { gleaner as command } from '../../cli/cli.ts'
import { until } from '../../until.ts'
import { ServerPair } from './pair.ts'
import { PostgresProxy } from './proxy.ts'

/** Work goes on that soon after a standby is promoted, on a busy machine. */
const FOLLOWED_MS = 20_000

describe('a URL', () => {
  const urls = (url: string) => readServerUrl(url).urls
  const target = (url: string) => readServerUrl(url).target

  test('may name several servers, each with its port', () => {
    expect(urls('postgres://u:p@one:5433,two,[::1]:5434/db?schema=jobs')).toEqual([
      'postgres://u:p@one:5433/db?schema=jobs',
      'postgres://u:p@two/db?schema=jobs',
      'postgres://u:p@[::1]:5434/db?schema=jobs',
    ])
    expect(urls('postgresql://one,two')).toEqual(['postgresql://one', 'postgresql://two'])
  })

  test('says which of them is good enough; otherwise the one that accepts writes is', () => {
    expect(target('postgres://one,two/db')).toBe('read-write')
    expect(target('postgres://one/db')).toBe('any')
    expect(target('postgres://one/db?target_session_attrs=primary')).toBe('primary')
    expect(() => target('postgres://one/db?target_session_attrs=standby')).toThrow(/'read-write'/)
  })

  test.for(['postgres://u:hunter2@one,,two/db', 'postgres://u:hunter2@one:5433,two:port/db'])(
    '%s is refused and not repeated',
    (url) => {
      expect(() => readServerUrl(url)).toThrow(/this is not a PostgreSQL URL/)
      expect(() => readServerUrl(url)).not.toThrow(/hunter2/)
    },
  )
})

let pair: ServerPair
beforeAll(async () => {
  pair = await ServerPair.start()
})
afterAll(() => pair.stop())

const quick = defineTask({ name: 'quick', run: () => 'done' })
/** Only who knows the address has it. */
const moved = defineTask({ name: 'moved', queue: 'address', run: () => 'done' })

async function opened(
  options: Omit<GleanerOptions, 'database'> & { database?: string } = {},
): Promise<Gleaner> {
  const gleaner = await openGleaner({
    database: pair.url(pair.standby, pair.primary),
    tasks: [quick],
    timings: { lease: '6s', query: '8s' },
    ...options,
  })
  onTestFinished(() => gleaner.close())
  gleaner.on('problem', () => {})
  return gleaner
}

/** A command in a folder whose config names both servers. */
async function statusByCommand(): Promise<{ code: number; stdout: string; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-failover-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const database = pair.url(pair.primary, pair.standby)
  writeFileSync(
    join(folder, 'gleaner.config.mjs'),
    `export default { database: ${JSON.stringify(database)} }\n`,
  )
  return command(folder, 'status', '--json')
}

test('of several servers the one that accepts writes is found, wherever it stands', async () => {
  const gleaner = await opened()
  gleaner.work()
  expect(await (await gleaner.enqueue(quick)).result()).toBe('done')
  const [{ count }] = await pair.ask(
    pair.standby,
    `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'gleaner'`,
  )
  expect(count).toBe(0)
})

test('that no server fits says why for each of them, without the password', async () => {
  const database = pair.url(pair.standby, pair.standby).replace(':gleaner@', ':gleaner@127.0.0.1:1,')
  const refused = await opened({ database }).then(
    () => expect.unreachable('it opened'),
    (error) => error,
  )
  expect(refused).toMatchObject({ code: 'STORE_AWAY' })
  expect(refused.message).toMatch(/127\.0\.0\.1:1: .*ECONNREFUSED.*is a standby/)
  expect(refused.message).not.toMatch(/gleaner:gleaner|gleaner@/)
})

test('a server that turns read-only and keeps its connections is left for the standby that is promoted, by all that were connected', async () => {
  const gate = Promise.withResolvers<void>()
  const runs: number[] = []
  const held = defineTask({
    name: 'held',
    async run(_: undefined, ctx) {
      runs.push(ctx.fence)
      await gate.promise
      return ctx.complete('held', (tx: any) => tx.query('INSERT INTO held_notes VALUES ($1)', [ctx.fence]))
    },
  })
  await pair.ask(pair.primary, 'CREATE TABLE held_notes (fence bigint)')
  // They look for work once a minute, unless somebody wakes them.
  const timings = { lease: '6s', query: '8s', idleMin: '1m', idleMax: '1m' } as const
  const gleaner = await opened({ tasks: [quick, held], timings })
  gleaner.work({ concurrency: 1 })
  const handle = await gleaner.enqueue(held)
  await until('it runs', () => runs.length === 1)
  const idle = await opened({ timings })
  const worker = idle.work()
  await worker.drained()
  const client = await opened()
  // This one knows an address only, which is that of the standby soon.
  const address = await PostgresProxy.open(pair.primary.url)
  onTestFinished(() => address.close())
  const byAddress = await opened({ database: address.url, tasks: [moved], timings })
  await byAddress.work().drained()

  await pair.makeReadOnly(pair.primary)
  await pair.promote(pair.standby)
  address.leadTo(pair.standby.url)
  const beganMs = performance.now()
  await until('something can be enqueued', () =>
    client.enqueue(quick).then(
      () => true,
      () => false,
    ),
  )
  const followed = (sql: string) => pair.ask(pair.standby, sql)
  await until('all listen there', async () => {
    const [{ count }] = await followed(
      `SELECT count(*)::int FROM pg_stat_activity WHERE query LIKE 'LISTEN "gleaner"%' AND application_name = 'gleaner'`,
    )
    return count === 4
  })
  expect(await (await client.enqueue(quick)).result({ timeout: '20s' })).toBe('done')
  const elsewhere = await opened({ tasks: [moved] })
  expect(await (await elsewhere.enqueue(moved)).result({ timeout: '20s' })).toBe('done')
  expect(performance.now() - beganMs).toBeLessThan(FOLLOWED_MS)
  const renewals = async () =>
    (await followed('SELECT sum(renewals)::int AS sum FROM gleaner.sessions WHERE ended_at IS NULL'))[0].sum
  const before = await renewals()
  await until('the keepers renew there', async () => (await renewals()) >= before + 2)

  gate.resolve()
  expect(await handle.result({ timeout: '20s' })).toBe('held')
  expect(await followed('SELECT fence::int FROM held_notes')).toEqual([{ fence: runs.at(-1) }])
  expect(await gleaner.maintenance.check()).toEqual([])
  const status = await statusByCommand()
  expect(status).toMatchObject({ code: 0, stderr: '' })
  expect(status.stdout).not.toContain('gleaner:gleaner')

  // And when the old one is gone for good, nobody misses it.
  pair.kill(pair.primary)
  expect(await (await client.enqueue(quick)).result({ timeout: '20s' })).toBe('done')
  expect(await (await (await opened()).enqueue(quick)).result({ timeout: '20s' })).toBe('done')
})
