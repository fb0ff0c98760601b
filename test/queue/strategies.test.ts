import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineTask, InputError, openGleaner } from '../../src/index.ts'
import { openTestGleaner } from '../../src/testing/index.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'

const visits: number[] = []
const visit = defineTask({
  name: 'visit',
  queue: 'tour',
  input: z.number(),
  run: (place) => {
    visits.push(place)
  },
})

describe('queues of openGleaner', () => {
  test('are stored: who does not name them leaves them as they are', async () => {
    const path = tempDatabase()
    const options = { path, tasks: [visit] }
    const first = await openTemp({
      ...options,
      queues: { tour: { strategy: 'priority', ageing: '10m' }, lot: { strategy: 'weighted' } },
    })
    await first.close()
    const second = await openTemp({ ...options, queues: { tour: {} } })
    expect(await second.queues.list()).toMatchObject([
      { name: 'lot', strategy: 'weighted', ageingMs: null },
      { name: 'tour', strategy: 'priority', ageingMs: 600_000 },
    ])
    // The strategy and its ageing are one setting.
    const third = await openTemp({ ...options, queues: { tour: { strategy: 'priority' } } })
    expect(await third.queues.list()).toMatchObject([{ name: 'lot' }, { name: 'tour', ageingMs: null }])
    const fourth = await openTemp({ ...options, queues: { lot: { ageing: '5s' } } })
    expect((await fourth.queues.list())[0]).toMatchObject({ strategy: 'priority', ageingMs: 5_000 })
  })

  test.each([
    ['a list', [], 'queues'],
    ['no options', { tour: null }, 'queues.tour'],
    ['an unknown strategy', { tour: { strategy: 'random' } }, 'queues.tour.strategy'],
    ['an option that there is not', { tour: { strategie: 'fifo' } }, 'strategie'],
    ['ageing where nothing ages', { tour: { strategy: 'fifo', ageing: '1m' } }, 'queues.tour.ageing'],
    ['ageing at once', { tour: { ageing: 0 } }, 'queues.tour.ageing'],
  ])('refuse %s, and nothing is written', async (_, queues, words) => {
    const path = tempDatabase()
    const opening = openTemp({ path, tasks: [visit], queues: queues as never })
    await expect(opening).rejects.toBeInstanceOf(InputError)
    await expect(opening).rejects.toMatchObject({ code: 'BAD_OPTION', hint: expect.any(String) })
    await expect(opening).rejects.toThrow(words)
    expect(await (await openTemp({ path })).queues.list()).toEqual([])
  })

  test.each([
    ['BAD_QUEUE', { 'no name': {} }],
    ['BAD_DURATION', { tour: { ageing: 'soon' } }],
  ])('refuse with %s what is none: %j', async (code, queues) => {
    await expect(openTemp({ queues: queues as never })).rejects.toMatchObject({ code })
  })

  test('hold in memory as well, on a time of a test', async () => {
    visits.length = 0
    const t = await openTestGleaner({ tasks: [visit], queues: { tour: { strategy: 'lifo' } } })
    onTestFinished(() => t.close())
    for (const place of [1, 2, 3]) await t.enqueue(visit, place)
    t.work({ concurrency: 1 })
    await t.runUntilIdle()
    expect(visits).toEqual([3, 2, 1])
  })
})

test('while a worker works, another process changes the order: what waits is re-ranked, and each runs once', async () => {
  visits.length = 0
  const database = `sqlite:${tempDatabase()}`
  const options = { database, tasks: [visit], durability: 'normal', timings: { sweep: '20ms' } } as const
  const working = await openGleaner(options)
  onTestFinished(() => working.close())
  const places = Array.from({ length: 3_000 }, (_, place) => place)
  await working.enqueueMany(visit, places)
  const worker = working.work({ concurrency: 4 })
  for (const strategy of ['lifo', 'weighted', 'fifo', 'priority', 'lifo'] as const) {
    const changing = await openGleaner({ ...options, queues: { tour: { strategy } } })
    await changing.enqueueMany(visit, [3_000 + visits.length])
    await changing.close()
  }
  await worker.drained()
  expect(visits.filter((place) => place < 3_000).toSorted((a, b) => a - b)).toEqual(places)
  expect(visits.length).toBe(3_005)
})

test('a worker finds by itself what somebody has ranked by an order of former times', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [visit], timings: { sweep: '10ms' } })
  await gleaner.enqueueMany(visit, [1, 2])
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(path)
  onTestFinished(() => {
    db.close()
  })
  // As if it had been changed, and whoever did so was killed.
  db.exec(`INSERT INTO gleaner_queues (name, paused, strategy, era, unranked) VALUES ('tour', 1, 'fifo', 1, 1);
           UPDATE gleaner_meta SET value = value + 1 WHERE key = 'queues'`)
  gleaner.work()
  const ranks = () => db.prepare('SELECT min(rank) FROM gleaner_tasks').pluck().get() as number
  await until('both are re-ranked', () => ranks() >= 2 ** 52)
})

describe('an order of its own', () => {
  test('a worker serves a queue in another order, and a type has its own', async () => {
    const run: string[] = []
    const note = (name: string, strategy?: 'lifo') =>
      defineTask({ name, input: z.string(), run: (one) => void run.push(one), ...(strategy && { strategy }) })
    const [plain, last] = [note('plain'), note('last', 'lifo')]
    const gleaner = await openTemp({ tasks: [plain, last] })
    await gleaner.enqueueMany(plain, ['a', 'b', 'c'])
    await gleaner.work({ concurrency: 1, strategies: { default: 'lifo' } }).drained()
    await gleaner.enqueueMany(last, ['d', 'e', 'f'])
    await gleaner.work({ concurrency: 1 }).drained()
    expect(run).toEqual(['c', 'b', 'a', 'f', 'e', 'd'])
  })

  test.each([
    ['a queue that it does not serve', { other: 'lifo' }, 'other'],
    ['an unknown strategy', { tour: 'random' }, 'strategies.tour'],
    ['no object', ['lifo'], 'strategies'],
  ])('work refuses %s', async (_, strategies, words) => {
    const gleaner = await openTemp({ tasks: [visit] })
    const work = () => gleaner.work({ queues: ['tour'], strategies: strategies as never })
    expect(work).toThrow(words)
    expect(work).toThrow(expect.objectContaining({ code: 'BAD_OPTION', hint: expect.any(String) }))
  })

  test('defineTask refuses an unknown strategy', () => {
    const define = () => defineTask({ name: 'x', strategy: 'random' as never, run: () => {} })
    expect(define).toThrow(expect.objectContaining({ code: 'BAD_DEFINITION' }))
  })
})
