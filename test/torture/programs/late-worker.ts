import { openGleaner } from '../../../src/index.ts'
import { argument } from '../../journeys/program.ts'
import { kept } from '../kept-steps.ts'

/** Runs as many at once as it is to freeze with. */
const { database, concurrency } = argument<{ database: string; concurrency: number }>()
const gleaner = await openGleaner({
  database,
  tasks: [kept],
  timings: { lease: '500ms', sweep: '100ms', idleMin: '50ms', idleMax: '200ms' },
})
gleaner.work({ concurrency })
