// Two ways to end a task early. Both reach the handler through ctx.signal.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { defineTask, openGleaner, TaskCancelled, TaskFailed } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

const download = defineTask({
  name: 'download',
  input: z.object({ url: z.string() }),
  timeout: '200ms',
  retry: { attempts: 2, base: '50ms' },
  async run({ url }, ctx) {
    // Most of Node accepts a signal: fetch, timers, streams, child processes. They end at once when it aborts.
    await sleep(60_000, undefined, { signal: ctx.signal })
    return url
  },
})

const gleaner = await openGleaner({ database: `sqlite:${temporaryFile('app.db')}`, tasks: [download] })

// Cancelled while it waits: it never starts.
const waiting = await gleaner.enqueue(download, { url: 'https://example.org/1' })
await waiting.cancel()
await waiting.result().catch((error) => console.log('1:', error instanceof TaskCancelled, error.code))

// Cancelled while it runs, here or in any other process.
const started = new Promise((resolve) => gleaner.on('started', resolve))
gleaner.work()
const running = await gleaner.enqueue(download, { url: 'https://example.org/2' }, { timeout: '1m' })
await started
await running.cancel()
await running.result().catch((error) => console.log('2:', error instanceof TaskCancelled, error.code))

// Too slow, twice. Gleaner retries after a time-out as after an error. The second one is final.
const slow = await gleaner.enqueue(download, { url: 'https://example.org/3' })
await slow.result().catch((error) => console.log('3:', error instanceof TaskFailed, error.kind))
for (const { attempt, outcome, error } of await gleaner.tasks.attempts(slow.id)) {
  console.log(`   attempt ${attempt}: ${outcome}: ${error?.message}`)
}

await gleaner.close()
