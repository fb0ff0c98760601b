import { openGleaner } from '../../../src/index.ts'
import { argument, say, whenTold } from '../program.ts'
import { everySecond } from '../recurring-tasks.ts'

/** Works, and with it enqueues what recurs, until it is told to close. */
const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks: [everySecond] })
gleaner.on('completed', ({ id }) => say('completed', { id }))
gleaner.on('problem', ({ message }) => say('problem', { message }))
gleaner.work()
say('ready')
whenTold('close', async () => {
  await gleaner.close()
  say('closed')
})
