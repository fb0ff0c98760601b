import { openGleaner } from '../../../src/index.ts'
import { queues, watched } from '../limited-tasks.ts'
import { argument, say, whenTold } from '../program.ts'

/** Works within the limits, until it is told to close, or killed. */
const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks: [watched], queues, timings: { sweep: '50ms' } })
gleaner.on('completed', ({ id }) => say('completed', { id }))
gleaner.on('problem', ({ message }) => say('problem', { message }))
gleaner.work({ concurrency: 10 })
say('ready')
whenTold('close', async () => {
  await gleaner.close()
  say('closed')
})
