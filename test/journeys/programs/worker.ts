import {
  type GleanerOptions,
  openGleaner,
  type RunningWorker,
  type TimingOptions,
} from '../../../src/index.ts'
import { argument, say, whenTold } from '../program.ts'
import { tasks } from '../tasks.ts'

interface Argument {
  database: string
  timings?: TimingOptions
  postgres?: GleanerOptions['postgres']
  /** One worker for each. */
  concurrency?: number | number[]
  queues?: string[]
}

const EVENTS = [
  'started',
  'completed',
  'failed',
  'retrying',
  'cancelled',
  'returned',
  'claim-lost',
  'problem',
] as const

const { database, postgres, timings, concurrency = 1, queues } = argument<Argument>()
const gleaner = await openGleaner({ database, postgres, tasks, timings })
for (const event of EVENTS) gleaner.on(event, (told) => say(event, told))
const workers: RunningWorker[] = [concurrency]
  .flat()
  .map((each) => gleaner.work({ concurrency: each, queues }))
say('ready')

whenTold('stop', async ({ drain }) => {
  await Promise.all(workers.map((worker) => worker.stop({ drain })))
  say('stopped')
})
whenTold('close', async () => {
  await gleaner.close()
  say('closed')
})
