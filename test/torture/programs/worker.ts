import { openGleaner } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { tasks } from '../tasks.ts'
import { sqlite } from './library.ts'

/** Works until it is killed. */
const { database, concurrency } = argument<{ database: string; concurrency: number }>()
const gleaner = await openGleaner({ database, sqlite, tasks, timings: { sweep: '50ms' } })
gleaner.on('completed', ({ id }) => say('completed', { id }))
gleaner.on('problem', ({ message, error }) => say('problem', { message: `${message}: ${error}` }))
gleaner.work({ concurrency })
say('ready')
