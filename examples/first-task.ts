// The first task of the README. Run it with: node examples/first-task.ts
import { z } from 'zod'
import { defineTask, openGleaner } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  async run({ name }, ctx) {
    ctx.log.info('greeting', { name })
    return `Hello, ${name}!`
  },
})

const gleaner = await openGleaner({ database: `sqlite:${temporaryFile('app.db')}`, tasks: [greet] })
gleaner.work({ concurrency: 5 })

const handle = await gleaner.enqueue(greet, { name: 'Ada' }) // on disk when this resolves
console.log(await handle.result({ timeout: '10s' }))

await gleaner.close()
