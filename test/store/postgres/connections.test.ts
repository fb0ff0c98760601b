import { describe, expect } from 'vitest'
import { z } from 'zod'
import { defineTask, StoreError } from '../../../src/index.ts'
import { counts, newTask } from '../../conformance/world.ts'
import { type Place, test } from './place.ts'
import { CERTIFICATE, openTlsFront } from './tls-front.ts'

const echo = defineTask({ name: 'echo', input: z.string(), run: (word) => word })
/** Short, so that the keeper has something to do soon. */
const SHORT_LEASE = { lease: '600ms', sweep: '1h' } as const

/** Holds a lock on a table of the engine while `work` goes on. */
async function whileLocked(place: Place, table: string, work: () => Promise<void>): Promise<void> {
  const client = await place.client()
  await client.query('BEGIN')
  await client.query(`LOCK TABLE ${place.schema}.${table} IN ACCESS EXCLUSIVE MODE`)
  try {
    await work()
  } finally {
    await client.query('ROLLBACK')
  }
}

describe('every connection', () => {
  test('of the pool, the listener and the keeper has its time-outs from the start', async ({ place }) => {
    const proxy = await place.proxy()
    const engine = await place.open({
      database: proxy.url,
      tasks: [echo],
      timings: SHORT_LEASE,
      postgres: { statementTimeout: '12s', lockTimeout: '3s' },
    })
    engine.work()
    await (await engine.enqueue(echo, 'a')).result()
    const having = (statement: RegExp) =>
      proxy.seen.filter(({ statements }) => statements.some((text) => statement.test(text)))
    await place.until('the keeper renews', () => having(/renewals \+ 1/).length > 0)

    const [pool, listener, keeper] = [/SKIP LOCKED/, /^LISTEN/, /renewals \+ 1/].map(having)
    expect(listener).toHaveLength(1)
    expect(keeper).toHaveLength(1)
    // Each on a connection of its own.
    expect(pool).not.toContain(listener![0])
    expect(pool).not.toContain(keeper![0])
    for (const { settings } of proxy.seen) {
      expect(settings).toMatchObject({
        statement_timeout: '12000',
        lock_timeout: '3000',
        idle_in_transaction_session_timeout: '60000',
        application_name: 'gleaner',
      })
    }
    // As the server understood them.
    let shown: unknown
    const asking = defineTask({
      name: 'ask',
      run: (_: undefined, ctx) =>
        ctx.complete(null, async (tx: any) => {
          shown = (
            await tx.query(
              `SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`,
            )
          ).rows
        }),
    })
    const other = await place.open({
      tasks: [asking],
      postgres: { statementTimeout: '12s', lockTimeout: '3s' },
    })
    other.work()
    await (await other.enqueue(asking)).result()
    expect(shown).toEqual([{ statement: '12s', lock: '3s' }])
  })

  test('gives up on a lock after lockTimeout: STORE_BUSY, and all is well when it is gone', async ({
    place,
  }) => {
    const engine = await place.open({ tasks: [echo], postgres: { lockTimeout: '100ms' } })
    await engine.enqueue(echo, 'a')
    await whileLocked(place, 'tasks', async () => {
      const error = await engine.enqueue(echo, 'b').catch((failed) => failed)
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({ code: 'STORE_BUSY', hint: expect.stringContaining('lock') })
      await expect(engine.tasks.counts()).rejects.toMatchObject({ code: 'STORE_BUSY' })
    })
    expect(await engine.tasks.counts()).toEqual(counts({ queued: 1 }))
  })

  test('of the keeper gives up on a lock, tells of it, and renews as soon as it is gone', async ({
    place,
  }) => {
    const engine = await place.open({
      tasks: [echo],
      timings: { ...SHORT_LEASE, lease: '1s' },
      postgres: { lockTimeout: '100ms' },
    })
    const problems: string[] = []
    engine.on('problem', ({ message, error }) => problems.push(`${message}: ${error}`))
    await engine.work().drained()
    await whileLocked(place, 'sessions', () =>
      place.until('the keeper tells', () =>
        problems.some((told) => /^the keeper could not renew.*55P03/.test(told)),
      ),
    )
    const renewals = async () => (await place.rows('SELECT renewals::int FROM gleaner.sessions'))[0].renewals
    const before = await renewals()
    await place.until('a renewal', async () => (await renewals()) > before)
    expect(await (await engine.enqueue(echo, 'still here')).result()).toBe('still here')
  })

  test('gives up on a statement after statementTimeout: STORE_BUSY', async ({ place }) => {
    const slow = defineTask({
      name: 'slow',
      retry: { attempts: 1 },
      run: (_: undefined, ctx) => ctx.complete(null, (tx: any) => tx.query('SELECT pg_sleep(60)')),
    })
    const engine = await place.open({ tasks: [slow], postgres: { statementTimeout: '300ms' } })
    engine.work()
    await expect((await engine.enqueue(slow)).result()).rejects.toThrow(/57014/)
  })
})

describe('poolSize', () => {
  test('is the most there are, beside one that listens and one that renews', async ({ place }) => {
    const proxy = await place.proxy()
    const engine = await place.open({
      database: proxy.url,
      tasks: [echo],
      timings: SHORT_LEASE,
      postgres: { poolSize: 3 },
    })
    engine.work({ concurrency: 20 })
    const words = Array.from({ length: 100 }, (_, n) => `${n}`)
    const handles = await Promise.all(
      words.map((word) => engine.enqueue(echo, word, { key: Number(word) % 2 === 0 ? word : undefined })),
    )
    await Promise.all([
      ...handles.map((handle) => handle.result()),
      ...handles.map(({ id }) => engine.tasks.get(id)),
    ])
    await place.until('the keeper renews', () =>
      proxy.seen.some(({ statements }) => statements.some((text) => text.includes('renewals + 1'))),
    )
    expect(proxy.peak).toBeLessThanOrEqual(3 + 2)
    expect(proxy.peak).toBeGreaterThan(2)
  })

  test('is far more than an idle process has: one for everything, one that listens and one that renews', async ({
    place,
  }) => {
    const proxy = await place.proxy()
    const engine = await place.open({
      database: proxy.url,
      tasks: [echo],
      timings: SHORT_LEASE,
      postgres: { poolSize: 10 },
    })
    engine.work()
    await (await engine.enqueue(echo, 'a')).result()
    const times = (pattern: RegExp) =>
      proxy.seen.flatMap(({ statements }) => statements).filter((text) => pattern.test(text)).length
    await place.until(
      'the counters are summed up, leases are renewed, and what the start needed has ended',
      () => times(/DELETE FROM \S+tallies/) > 1 && times(/renewals \+ 1/) > 1 && proxy.open <= 3,
      90_000,
    )
  })

  test('of 2 is enough for many workers that all meet new queues at once', async ({ place }) => {
    const tasks = Array.from({ length: 8 }, (_, n) =>
      defineTask({ name: `task${n}`, queue: `queue${n}`, run: () => n }),
    )
    const engine = await place.open({ tasks, postgres: { poolSize: 2 } })
    const problems: unknown[] = []
    engine.on('problem', (problem) => problems.push(problem))
    const workers = Array.from({ length: 6 }, () => engine.work())
    await Promise.all(workers.map((worker) => worker.drained()))
    const handles = await Promise.all(
      tasks.flatMap((task) => [engine.enqueue(task), engine.enqueue(task, undefined, { key: 'k' })]),
    )
    await Promise.all(handles.map((handle) => handle.result({ timeout: '30s' })))
    // One that holds a connection and waits for a second would have waited until its time-out.
    expect(problems).toEqual([])
  })

  test('of 1 is enough for each verb: none holds a connection and waits for another', async ({ place }) => {
    const store = await place.store({ poolSize: 1, connectTimeoutMs: 5_000, notify: false })
    const other = await place.store()
    const session = await store.sessions.openSession({
      worker: 'worker:small:0',
      process: { host: 'far', boot: 'far', pid: 1, startTime: null },
      queues: ['default', 'new'],
      names: [],
      capabilities: {},
    })
    const exchange = { session, starts: [], outcomes: [], progress: [], logs: [] }
    const able = { queues: ['default', 'new'], names: ['job'], capabilities: {} }
    const want = { able, start: 1, ahead: 0, empty: true }
    // A lane that this store does not know yet, in the transaction that claims from it.
    await other.tasks.enqueue([newTask({ queue: 'new' })])
    const { claims } = await store.tasks.exchange({ ...exchange, holding: [], want })
    expect(claims).toHaveLength(1)
    const run = { id: claims[0]!.id, fence: claims[0]!.fence, startedAt: 1 }
    expect(await store.tasks.completeWith(session, run, null, () => {})).toBe(true)
    // One that nobody knows, in the transaction that locks a key.
    const [keyed] = await store.tasks.enqueue([newTask({ queue: 'newer', key: 'k' })])
    expect(await store.tasks.cancelTask(keyed!.id)).toBe('cancelled')
    expect(await store.tasks.retryTask(keyed!.id)).toBe('retried')
    expect((await store.tasks.listTasks({}, { limit: 10, cursor: null })).items).toHaveLength(2)
    await store.admin.configureQueues([{ name: 'newer', ordering: { strategy: 'weighted', ageingMs: null } }])
    expect(await store.maintenance.rerank()).toBe(false)
    expect(await store.sessions.endSession(session, 'stop')).toMatchObject({ returned: 0 })
  })

  test('that all is taken for longer than connectTimeout is STORE_BUSY, and says what to do', async ({
    place,
  }) => {
    const store = await place.store({ poolSize: 1, connectTimeoutMs: 200, notify: false })
    const [task] = await store.tasks.enqueue([newTask()])
    await whileLocked(place, 'tasks', async () => {
      const waiting = store.tasks.getTask(task!.id)
      await expect(store.tasks.countTasks({})).rejects.toMatchObject({
        code: 'STORE_BUSY',
        hint: expect.stringContaining('poolSize'),
      })
      waiting.catch(() => {})
    })
    expect(await store.tasks.countTasks({})).toEqual(counts({ queued: 1 }))
  })
})

describe('ssl', () => {
  test('reaches the pool, the listener and the keeper: a whole engine works through TLS', async ({
    place,
  }) => {
    const front = await openTlsFront(place.url)
    place.atEnd(() => front.close())
    const engine = await place.open({
      database: front.url,
      tasks: [echo],
      timings: SHORT_LEASE,
      postgres: { ssl: { ca: CERTIFICATE } },
    })
    const problems: unknown[] = []
    engine.on('problem', (problem) => problems.push(problem))
    engine.work()
    const elsewhere = await place.open({ tasks: [echo] })
    expect(await (await elsewhere.enqueue(echo, 'safe')).result()).toBe('safe')
    const renewed = async () =>
      (await place.rows('SELECT renewals::int FROM gleaner.sessions'))[0].renewals > 1
    await place.until('the keeper renews', renewed)
    expect(front.secured).toBeGreaterThanOrEqual(3)
    expect(front.refused).toBe(0)
    expect(problems).toEqual([])
  })

  test('a certificate of nobody we know is refused, with what to do', async ({ place }) => {
    const front = await openTlsFront(place.url)
    place.atEnd(() => front.close())
    for (const postgres of [{ ssl: true }, { ssl: { rejectUnauthorized: true } }]) {
      await expect(place.open({ database: front.url, postgres })).rejects.toMatchObject({
        code: 'STORE_FAILED',
        hint: expect.stringContaining('ca'),
      })
    }
    await place.open({ database: front.url, postgres: { ssl: { rejectUnauthorized: false } } })
  })

  test('the option wins over sslmode in the URL', async ({ place }) => {
    const front = await openTlsFront(place.url)
    place.atEnd(() => front.close())
    const database = urlWith(front.url, 'sslmode=require')
    await expect(place.open({ database })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await place.open({ database, postgres: { ssl: { ca: CERTIFICATE } } })
    expect(front.secured).toBeGreaterThan(0)
  })
})

function urlWith(url: string, parameters: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${parameters}`
}

describe('a schema', () => {
  test('is given as an option or in the URL, and the option counts', async ({ place }) => {
    const schemas = async () =>
      (await place.rows('SELECT nspname FROM pg_namespace WHERE nspname LIKE $1', [`${place.schema}%`]))
        .map(({ nspname }) => nspname)
        .sort()
    const [one, two] = [`${place.schema.slice(0, 50)}_one`, `${place.schema.slice(0, 50)}_two`]
    place.atEnd(() => place.rows(`DROP SCHEMA IF EXISTS ${one}, ${two} CASCADE`))
    const database = `${place.url}?schema=${one}`
    await place.open({ database, postgres: { schema: undefined } })
    expect(await schemas()).toEqual([one])
    await place.open({ database, postgres: { schema: two } })
    expect(await schemas()).toEqual([one, two])
  })

  test('does not see the tasks, keys and pauses of another one in the same database', async ({ place }) => {
    const other = `${place.schema.slice(0, 50)}_other`
    place.atEnd(() => place.rows(`DROP SCHEMA IF EXISTS ${other} CASCADE`))
    const [here, there] = [
      await place.open({ tasks: [echo] }),
      await place.open({ tasks: [echo], postgres: { schema: other } }),
    ]
    await there.pause()
    const kept = await there.enqueue(echo, 'there', { key: 'k' })
    const handle = await here.enqueue(echo, 'here', { key: 'k' })
    expect([handle.created, kept.created]).toEqual([true, true])
    const worker = here.work()
    expect(await handle.result()).toBe('here')
    await worker.drained()
    expect(await here.tasks.counts()).toEqual(counts({ completed: 1 }))
    expect(await there.tasks.counts()).toEqual(counts({ queued: 1 }))
    expect((await place.rows(`SELECT * FROM ${other}.sessions`)).length).toBe(0)
  })

  test('may have a name that means something in SQL', async ({ place }) => {
    place.atEnd(() => place.rows('DROP SCHEMA IF EXISTS "user" CASCADE'))
    const engine = await place.open({ tasks: [echo], postgres: { schema: 'user' } })
    engine.work()
    const client = await place.client()
    expect(await (await engine.enqueue(echo, 'a', { key: 'k' })).result()).toBe('a')
    expect(await (await engine.within(client).enqueue(echo, 'b')).result()).toBe('b')
    expect((await client.query('SELECT completed::int FROM "user".queue_depth')).rows).toEqual([
      { completed: 2 },
    ])
  })
})
