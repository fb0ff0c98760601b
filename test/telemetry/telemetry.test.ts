import { once } from 'node:events'
import { ProxyTracerProvider } from '@opentelemetry/api'
import Database from 'better-sqlite3'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { insideOf } from '../../src/engine/inside.ts'
import { serve } from '../../src/http/index.ts'
import { defineTask, type GleanerOptions, openGleaner, PermanentError, RetryLater } from '../../src/index.ts'
import { openTelemetry } from '../../src/telemetry/index.ts'
import { tagFiles } from '../discovery/library.ts'
import { deferred } from '../journeys/deferred.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { BOTH } from '../torture/ground/both.ts'
import { read } from '../torture/ground/ground.ts'
import { inSpan, seen, startSdk } from './sdk.ts'

const greet = defineTask({ name: 'greet', run: async () => {} })

beforeAll(startSdk)
beforeEach(() => void seen())

const outcomes = () =>
  seen()
    .filter(({ name }) => name.startsWith('run '))
    .map(({ attributes }) => attributes['gleaner.outcome'])

describe.each(BOTH)('on %s', (_database, openGround) => {
  async function open(options: Omit<GleanerOptions, 'database'>, setup: readonly string[] = []) {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    for (const sql of setup) await ground.rows(sql)
    const gleaner = await openGleaner({
      database: ground.database,
      tasks: [greet],
      telemetry: openTelemetry(),
      ...options,
    })
    onTestFinished(() => gleaner.close())
    return { gleaner, ground }
  }

  test('many tasks are one span, and each attempt is its child', async () => {
    const { gleaner } = await open({})
    await gleaner.enqueueMany(greet, [undefined, undefined, undefined])
    await gleaner.enqueueMany(greet, [undefined, undefined], { timeout: '1m' })
    await gleaner.work().drained()
    const [three, two, ...runs] = seen()
    expect(three).toMatchObject({ kind: 'PRODUCER', attributes: { 'messaging.batch.message_count': 3 } })
    expect(two).toMatchObject({ kind: 'PRODUCER', attributes: { 'messaging.batch.message_count': 2 } })
    const parents = runs.map(({ parent }) => parent).sort()
    const expected = [three, three, three, two, two].map((span) => span!.spanId).sort()
    expect(parents).toEqual(expected)
  })

  test('a row has a span for each attempt, in a trace of its own', async () => {
    const discovery = tagFiles({
      retry: { attempts: 1 },
      run: async ({ id }) => {
        if (id === 2) throw new Error('no tags')
        await inSpan('the app’s own', async () => {})
      },
    })
    const { gleaner } = await open({ discoveries: [discovery], tasks: [] }, [
      `CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, tags TEXT, needs_tagging INTEGER NOT NULL DEFAULT 1)`,
      'CREATE INDEX files_to_tag ON files (id) WHERE needs_tagging = 1',
      `INSERT INTO files (id) VALUES (1), (2)`,
    ])
    const worker = await inSpan('whatever starts a worker', async () => gleaner.work())
    await worker.drained()
    const spans = seen()
    const ofRow = (id: number) =>
      spans.find(({ attributes }) => attributes['messaging.message.id'] === `tag-files/${id}`)
    expect(ofRow(1)).toMatchObject({
      name: 'run tag-files',
      kind: 'CONSUMER',
      parent: null,
      isError: false,
      attributes: { 'gleaner.discovery.name': 'tag-files', 'gleaner.outcome': 'completed' },
    })
    expect(ofRow(2)).toMatchObject({
      parent: null,
      isError: true,
      exceptions: ['Error: no tags'],
      attributes: { 'gleaner.outcome': 'failed', 'error.type': 'error', 'gleaner.attempt': 1 },
    })
    expect(spans.find(({ name }) => name === 'the app’s own')).toMatchObject({ parent: ofRow(1)!.spanId })
  })

  test('a step is a span inside its attempt, and one whose result was kept is none', async () => {
    const stepped = defineTask({
      name: 'stepped',
      retry: { attempts: 2, base: 1 },
      async run(_, ctx) {
        await ctx.step('charge', () => inSpan('the app’s own', async () => {}))
        await ctx.step('ship', () => {
          if (ctx.attempt === 1) throw new Error('no address')
        })
      },
    })
    const { gleaner } = await open({ tasks: [stepped] })
    await gleaner.enqueue(stepped)
    await gleaner.work().drained({ includeDelayed: true })
    const spans = seen()
    const runs = spans.filter(({ name }) => name === 'run stepped')
    const steps = spans.filter(({ name }) => name.startsWith('step '))
    expect(steps.map(({ name, parent, isError }) => [name, parent, isError])).toEqual([
      ['step charge', runs[0]!.spanId, false],
      ['step ship', runs[0]!.spanId, true],
      ['step ship', runs[1]!.spanId, false],
    ])
    expect(steps[0]).toMatchObject({
      attributes: { 'gleaner.step.name': 'charge', 'gleaner.step.number': 1 },
    })
    expect(spans.find(({ name }) => name === 'the app’s own')).toMatchObject({ parent: steps[0]!.spanId })
  })

  test('a span says what was committed: a claim that was lost completed nothing', async () => {
    const begun = deferred()
    const slow = defineTask({
      name: 'slow',
      run: async (_, { attempt, signal }) => {
        if (attempt > 1) return
        const lost = once(signal, 'abort')
        begun.resolve()
        await lost
      },
    })
    const { gleaner } = await open({ tasks: [slow, greet] })
    await gleaner.enqueue(slow)
    const worker = gleaner.work()
    await begun.promise
    const { store } = insideOf(gleaner)
    const [session] = await store.sessions.liveSessions()
    await store.sessions.endSession(session!.id, 'lease')
    // Wakes the worker, who is told then.
    await gleaner.enqueue(greet)
    await worker.drained({ includeDelayed: true })
    expect(outcomes().sort()).toEqual(['claim-lost', 'completed', 'completed'])
  })

  test('nothing is stored for those who do not trace, nor without an SDK', async () => {
    const withoutSdk = openTelemetry({ tracerProvider: new ProxyTracerProvider() })
    for (const telemetry of [undefined, withoutSdk]) {
      const { gleaner, ground } = await open({ telemetry })
      await gleaner.enqueue(greet)
      await gleaner.work().drained()
      expect(await read(ground, 'SELECT overrides FROM gleaner.tasks')).toEqual([null])
    }
    expect(seen()).toEqual([])
  })
})

test('how an attempt ended is told for each of its ways', async () => {
  const kinds = defineTask({
    name: 'kinds',
    retry: { attempts: 1 },
    run: async (_, ctx) => {
      if (ctx.id === '1') throw new PermanentError('never')
      if (ctx.id === '2') throw new RetryLater('1h')
      if (ctx.id === '3') await ctx.complete(null, () => {})
    },
  })
  const gleaner = await openTemp({ tasks: [kinds], telemetry: openTelemetry() })
  for (let n = 0; n < 3; n++) await gleaner.enqueue(kinds)
  await gleaner.work({ concurrency: 1 }).drained()
  // In the order of the commits: the completion of the third is one of its own.
  expect(outcomes().sort()).toEqual(['completed', 'failed', 'later'])
})

test('what a handler that is deaf to its end leaves behind is told as handed back', async () => {
  const begun = deferred()
  const end = deferred()
  const deaf = defineTask({
    name: 'deaf',
    run: async () => {
      begun.resolve()
      await end.promise
    },
  })
  const gleaner = await openTemp({ tasks: [deaf], telemetry: openTelemetry() })
  await gleaner.enqueue(deaf)
  const worker = gleaner.work()
  await begun.promise
  await worker.stop({ drain: 0 })
  expect(outcomes()).toEqual(['returned'])
  end.resolve()
})

test('with links an attempt is a trace of its own that points to the enqueue', async () => {
  const gleaner = await openTemp({ tasks: [greet], telemetry: openTelemetry({ attempts: 'link' }) })
  await gleaner.enqueue(greet)
  await gleaner.work().drained()
  const [enqueued, run] = seen()
  expect(run).toMatchObject({ parent: null, links: [enqueued!.spanId] })
  expect(run!.traceId).not.toBe(enqueued!.traceId)
})

test('a task of a transaction is traced, and what is refused is an error of its span', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [greet], telemetry: openTelemetry() })
  const db = new Database(path)
  onTestFinished(() => void db.close())
  const { id } = db.transaction(() => gleaner.within(db).enqueue(greet))()
  await gleaner.work().drained()
  const [enqueued, run] = seen()
  expect(enqueued!.attributes).toMatchObject({ 'messaging.message.id': id })
  expect(run).toMatchObject({ parent: enqueued!.spanId })
  expect(() => gleaner.within(db).enqueue(greet)).toThrow(/transaction/)
  expect(seen()).toMatchObject([{ name: 'enqueue greet', isError: true }])
})

test('who enqueues over HTTP passes a trace on', async () => {
  const gleaner = await openTemp({ tasks: [greet], telemetry: openTelemetry() })
  const server = await serve(gleaner, { port: 0, local: true })
  onTestFinished(() => server.close())
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const response = await fetch(`${server.url}/api/v1/tasks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      origin: new URL(server.url).origin,
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    },
    body: JSON.stringify({ name: 'greet' }),
  })
  expect(response.status).toBe(201)
  await gleaner.work().drained()
  expect(seen()).toMatchObject([{ traceId, parent: 'b7ad6b7169203331' }, { traceId }])
})

test('a tracer that throws harms no work, and is told of', async () => {
  const refuse = () => {
    throw new Error('the tracer is broken')
  }
  const broken = [
    { enqueueing: refuse, running: refuse, continuing: refuse },
    {
      enqueueing: () => ({ carrier: null, enqueued: refuse, failed: refuse }),
      running: () => ({ within: refuse, returned: refuse, ended: refuse }),
      continuing: refuse,
    },
  ]
  for (const telemetry of broken) {
    const gleaner = await openTemp({ tasks: [greet], telemetry })
    const problems: unknown[] = []
    gleaner.on('problem', ({ message }) => problems.push(message))
    const handle = await gleaner.enqueue(greet)
    await gleaner.work().drained()
    expect(await handle.result()).toBe(undefined)
    expect(new Set(problems)).toEqual(new Set(['telemetry threw']))
  }
})

test('what a trace takes along is bounded, and what is no telemetry is refused', async () => {
  const path = tempDatabase()
  const carrier = { baggage: 'x'.repeat(5_000) }
  const telemetry = {
    ...openTelemetry(),
    enqueueing: () => ({ carrier, enqueued: () => {}, failed: () => {} }),
  }
  const gleaner = await openTemp({ path, tasks: [greet], telemetry })
  await gleaner.enqueue(greet)
  const db = new Database(path)
  onTestFinished(() => void db.close())
  expect(db.prepare('SELECT overrides FROM gleaner_tasks').all()).toEqual([{ overrides: null }])
  for (const bad of [true, null, {}, { enqueueing: () => {} }])
    await expect(openTemp({ telemetry: bad as never })).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
