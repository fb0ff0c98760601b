import { openSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { defineTask, openGleaner, type Task } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { MARKS } from '../syscalls.ts'
import { sqlite } from './library.ts'

/** Enqueues, or works off, and marks what it was promised among its writes and syncs. */
const { database, role, count } = argument<{
  database: string
  role: 'producer' | 'worker'
  count: number
}>()

const marks = openSync(MARKS, 'w')
/** In the thread that got the answer, before anything else: what comes later in the records came later. */
const mark = (text: string) => writeSync(marks, text)
/** What fails was promised to nobody. */
const tried = async (what: Promise<unknown>) =>
  what.catch((error) => say('refused', { code: error.code, message: error.message }))

const INPUT = 'x'.repeat(1_500)
const input = z.string()
const plain = defineTask({ name: 'plain', queue: 'work', input, run: async () => INPUT.slice(0, 300) })
const effects = defineTask({
  name: 'effects',
  queue: 'work',
  input,
  async run(_, ctx) {
    await ctx.complete('done', (tx) => {
      tx.prepare('INSERT INTO effects (task) VALUES (?)').run(Number(ctx.id))
    })
    mark(`completed ${ctx.id}`)
  },
})
const kept = defineTask({ name: 'kept', queue: 'kept', input, run: async () => {} })

const gleaner = await openGleaner({
  database,
  sqlite,
  tasks: [plain, effects, kept],
  timings: { sweep: '1h', lease: '1h' },
})
if (role === 'worker') gleaner.work({ queues: ['work'], concurrency: 4 })
say('ready')

for (let n = 0; n < count; n++) {
  const enqueue = async (task: Task<string, any, any>) => {
    const { id } = await gleaner.enqueue(task, INPUT)
    mark(`enqueued ${id}`)
  }
  const some = n % 3 === 0 ? [kept, plain, effects] : [kept]
  await Promise.all(some.map((task) => tried(enqueue(task))))
}
say('done')
setInterval(() => {}, 1_000_000)
