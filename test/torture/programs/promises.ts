import { openSync, writeSync } from 'node:fs'
import { defineTask, type Gleaner, openGleaner } from '../../../src/index.ts'
import { argument } from '../../journeys/program.ts'
import { MARKS } from '../syscalls.ts'
import { sqlite } from './library.ts'

/** Does what a caller is promised something for, and marks the call and the answer among its system calls. */
const { database, durability, count } = argument<{
  database: string
  durability: 'full' | 'normal'
  count: number
}>()

const marks = openSync(MARKS, 'w')
/** Written before it returns, in the thread that got the answer: nothing can come in between. */
const mark = (text: string) => writeSync(marks, `[${text}]`)

async function promised(what: string, call: () => Promise<unknown>): Promise<void> {
  mark(`ask ${what}`)
  await call()
  mark(`got ${what}`)
}

let isFirst = true
const task = defineTask({
  name: 'task',
  run: async () => {
    if (isFirst) mark('plain completions')
    isFirst = false
    return 'done'
  },
})
const effect = defineTask({
  name: 'effect',
  run: (_, ctx) =>
    promised('complete', () =>
      ctx.complete('done', (tx) => {
        tx.prepare('INSERT INTO effects (task) VALUES (?)').run(Number(ctx.id))
      }),
    ),
})

const gleaner: Gleaner = await openGleaner({
  database,
  sqlite,
  durability,
  tasks: [task, effect],
  timings: { sweep: '1h', lease: '1h' },
})

// The first synced commit of a process writes and syncs the log that it found, too.
await gleaner.enqueue(task)
mark('one by one')
for (let n = 0; n < count; n++) await promised('enqueue', () => gleaner.enqueue(task))
mark('together')
await Promise.all(
  Array.from({ length: 100 }, async () => {
    await gleaner.enqueue(task)
    mark('got together')
  }),
)
mark('management')
const delayed = await gleaner.enqueue(task, undefined, { runAfter: '1h' })
await promised('cancel', () => delayed.cancel())
await promised('retry', () => gleaner.tasks.retry(delayed.id))
await promised('remove', () => gleaner.tasks.remove(delayed.id))
await promised('pause', () => gleaner.pause())
await promised('resume', () => gleaner.resume())
await promised('pause of a queue', () => gleaner.queues.pause('default'))
await promised('resume of a queue', () => gleaner.queues.resume('default'))
// Its session is opened with a sync of its own, before the first claim.
const worker = gleaner.work({ concurrency: 10 })
await worker.drained()
mark('completions with effects')
await gleaner.enqueue(effect)
await worker.drained()
mark('end')
await gleaner.close()
