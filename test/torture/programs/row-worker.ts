import { openGleaner } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { tagFiles } from '../files.ts'
import { sqlite } from './library.ts'

/** Works until it is killed. */
const { database, concurrency } = argument<{ database: string; concurrency: number }>()
const gleaner = await openGleaner({
  database,
  sqlite,
  discoveries: [tagFiles],
  timings: { sweep: '50ms', repair: '200ms', grace: '100ms' },
})
gleaner.on('completed', ({ id }) => say('completed', { id }))
gleaner.on('problem', ({ message, error }) => say('problem', { message: `${message}: ${error}` }))
gleaner.work({ concurrency, discoveries: ['tag-files'] })
say('ready')
