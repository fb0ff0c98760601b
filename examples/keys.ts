// Keys: the same work is enqueued once, however often the app asks for it.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { defineTask, openGleaner } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

const reindex = defineTask({
  name: 'search.reindex',
  input: z.object({ shop: z.string() }),
  async run({ shop }) {
    await sleep(50)
    return `${shop} indexed`
  },
})

const gleaner = await openGleaner({ database: `sqlite:${temporaryFile('app.db')}`, tasks: [reindex] })

// No worker runs yet, so the first task waits and holds its key.
const first = await gleaner.enqueue(reindex, { shop: 'north' }, { key: 'north' })
const again = await gleaner.enqueue(reindex, { shop: 'north' }, { key: 'north' })
console.log('first created:', first.created)
console.log('again created:', again.created, '- same task:', again.id === first.id)

// Both handles lead to the same result.
gleaner.work()
console.log(await again.result({ timeout: '10s' }))

// The task has finished, so its key is free: this is a new task.
const later = await gleaner.enqueue(reindex, { shop: 'north' }, { key: 'north' })
console.log('later created:', later.created)
await later.result({ timeout: '10s' })

// A key with the scope 'forever': a finished task still holds it, until the task is removed.
const options = { key: 'order-4711', keyScope: 'forever' } as const
const once = await gleaner.enqueue(reindex, { shop: 'south' }, options)
await once.result({ timeout: '10s' })
const never = await gleaner.enqueue(reindex, { shop: 'south' }, options)
console.log('forever created:', never.created)
await gleaner.tasks.remove(once.id)
const free = await gleaner.enqueue(reindex, { shop: 'south' }, options)
console.log('after remove created:', free.created)

await gleaner.close()
