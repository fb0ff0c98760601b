import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { insideOf } from '../../src/engine/inside.ts'
import { serve } from '../../src/http/index.ts'
import { openGleaner } from '../../src/index.ts'
import { timesAsLong } from '../compare-speed.ts'
import { MANY_TASKS, openLanes, START } from '../store/many-tasks.ts'
import { BOTH } from '../torture/ground/both.ts'
import { ask, plain } from './server.ts'

const TORTURE = process.env.GLEANER_TORTURE === '1'
const TASKS = TORTURE ? 1_000_000 : 50_000
const FEW_TASKS = 2_000
/** A page whose cost grows with the table takes many times as long. */
const TIMES_AS_LONG_MAX = 3

const QUERIES = [
  '',
  'status=queued',
  'status=scheduled',
  'status=running',
  'status=completed',
  'status=failed&queue=default&name=job',
  `status=completed&finishedBefore=${START + FEW_TASKS / 2}`,
  'status=queued&key=k1000',
]

describe.each(BOTH)('on %s', (database, openGround) => {
  test('a page of a large table comes as soon as one of a small table, and while many are asked for the thread is not held up', async () => {
    const [few, many] = [await served(FEW_TASKS), await served(TASKS)]
    const ratios: [string, number][] = []
    for (const query of QUERIES) {
      const ratio = await timesAsLong(pageOf(many, query), pageOf(few, query), TIMES_AS_LONG_MAX)
      ratios.push([query || 'all', ratio])
    }
    for (const [query, ratio] of ratios) expect(ratio, query).toBeLessThan(TIMES_AS_LONG_MAX)

    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const pages = QUERIES.flatMap((query) => Array(20).fill(query) as string[])
    await Promise.all(pages.map((query) => pageOf(many, query)()))
    delay.disable()
    if (!TORTURE) return
    const all = ratios.map(([query, ratio]) => `${query} ${ratio.toFixed(1)}`).join(', ')
    const heldUp = (delay.percentile(99) / 1e6).toFixed(1)
    console.log(`${database}: a page of ${TASKS} tasks takes, times as long as one of ${FEW_TASKS}: ${all}`)
    console.log(`${database}: event loop p99 ${heldUp} ms`)
  }, 600_000)

  /** The address of a server over so many tasks. */
  async function served(count: number): Promise<string> {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    const gleaner = await openGleaner({ database: ground.database, tasks: [plain] })
    await openLanes(insideOf(gleaner).store)
    for (const sql of MANY_TASKS[database]!(count)) await ground.rows(sql)
    const server = await serve(gleaner, { port: 0, local: true })
    onTestFinished(async () => {
      await server.close()
      await gleaner.close()
    })
    return server.url
  }
})

function pageOf(url: string, query: string): () => Promise<void> {
  return async () => {
    const { status, body } = await ask(url, `/api/v1/tasks?limit=50&${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
  }
}
