import { openGleaner } from '../../../src/index.ts'
import { argument } from '../../journeys/program.ts'
import { tasks } from '../tasks.ts'
import { sqlite } from './library.ts'

/** A worker that takes what it can, and waits to be killed. It says which it runs. */
const { database, concurrency } = argument<{ database: string; concurrency: number }>()
const gleaner = await openGleaner({ database, sqlite, tasks, timings: { sweep: '1h' } })
gleaner.work({ concurrency })
