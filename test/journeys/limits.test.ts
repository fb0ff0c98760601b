import { join } from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { openPostgresDatabase } from '../store/postgres-database.ts'
import { until } from '../until.ts'
import { KEY_LIMIT, lastToBegin, mostAtOnce, note, QUEUE_LIMIT, queues, watched } from './limited-tasks.ts'
import { type Place, test } from './place.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e']
const TASKS = 150

const GROUNDS: Record<string, (place: Place) => Promise<string>> = {
  sqlite: async (place) => place.database,
  async postgres() {
    const { elsewhere, destroy } = await openPostgresDatabase()
    onTestFinished(destroy)
    return elsewhere.database
  },
}

describe.for(Object.entries(GROUNDS))('on %s', ([, databaseOf]) => {
  test('four processes keep to the limits of the queue and of each key, whoever is killed', async ({
    place,
  }) => {
    const database = await databaseOf(place)
    const file = join(place.folder, 'runs')
    const gleaner = await place.open({ database, tasks: [watched], queues })
    const start = async () => {
      const child = place.start('limited.ts', { database })
      await child.hears('ready')
      return child
    }
    const children = await Promise.all([1, 2, 3, 4].map(start))
    // One key has most of it.
    const keyOf = (i: number) => (i % 2 === 0 ? 'noisy' : KEYS[i % KEYS.length]!)
    await gleaner.enqueueMany(
      watched,
      Array.from({ length: TASKS }, (_, i) => ({ key: keyOf(i), file })),
    )
    for (const runs of [20, 60]) {
      await until(`${runs} have begun`, () => mostAtOnce(file).runs >= runs)
      const busy = children.find((child) => child.pid === lastToBegin(file))!
      // Written first: what it runs is over as soon as it is killed.
      note(file, { what: 'killed', pid: busy.pid })
      await busy.kill()
      children.push(await start())
    }
    const isDone = async () => (await gleaner.tasks.counts()).completed === TASKS
    await until('all are completed', isDone, 25_000)
    const most = mostAtOnce(file)
    expect(most.ofAll).toBeLessThanOrEqual(QUEUE_LIMIT)
    expect(most.ofOneKey).toBeLessThanOrEqual(KEY_LIMIT)
    // Nor were they all but idle.
    expect(most.ofAll).toBeGreaterThan(1)
    expect(children.flatMap((child) => child.all('problem'))).toEqual([])
    expect(await gleaner.maintenance.check()).toEqual([])
  })

  test('a process that waits for a slot goes on as soon as another one frees it', async ({ place }) => {
    const database = await databaseOf(place)
    const first = Promise.withResolvers<void>()
    const task = (run: () => Promise<void>) => defineTask({ name: 'task', queue: 'narrow', run })
    const narrow = { narrow: { concurrency: 1 } }
    const idle = { idleMin: '1h', idleMax: '1h', poll: '1h' } as const
    const one = await place.open({
      database,
      tasks: [task(() => first.promise)],
      queues: narrow,
      timings: idle,
    })
    const handles = [await one.enqueue(task(async () => {})), await one.enqueue(task(async () => {}))]
    const started = new Promise((resolve) => one.on('started', resolve))
    const worker = one.work()
    await started
    const other = await place.open({ database, tasks: [task(async () => {})], timings: idle })
    await other.work().drained()
    expect(await other.tasks.counts()).toMatchObject({ running: 1, queued: 1 })
    const stopping = worker.stop()
    first.resolve()
    await stopping
    await handles[1]!.result({ timeout: '10s' })
  })

  test('what starts keeps to the rate, with two processes, and is not late', async ({ place }) => {
    const database = await databaseOf(place)
    const [count, perMs, total] = [20, 200, 150]
    const gleaner = await place.open({ database })
    // While it runs, its record says when it was claimed: by the database's time, as the rate.
    const startedAt = async (id: string) => (await gleaner.tasks.get(id))!.startedAt!
    const quick = defineTask({ name: 'quick', queue: 'rated', run: async (_, ctx) => startedAt(ctx.id) })
    const rated = { rated: { rate: { count, per: perMs } } }
    const one = await place.open({ database, tasks: [quick], queues: rated })
    const other = await place.open({ database, tasks: [quick], queues: rated })
    await one.enqueueMany(quick, Array(total).fill(undefined))
    one.work()
    other.work()
    await until('all are completed', async () => (await gleaner.tasks.counts()).completed === total, 20_000)
    const { items } = await gleaner.tasks.list({ limit: total })
    const starts = items.map(({ result }) => result as number).sort((a, b) => a - b)
    const closest = Math.min(...starts.slice(count).map((at, i) => at - starts[i]!))
    expect(closest).toBeGreaterThanOrEqual(perMs)
    // Seven windows. Who only looked now and then would need a second for each.
    expect(starts.at(-1)! - starts[0]!).toBeLessThan(30 * perMs)
  })
})
