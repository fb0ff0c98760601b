import { setTimeout } from 'node:timers/promises'
import { implement, openGleaner } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { note, notesIn } from '../pulled-work.ts'

/** A Node worker beside callers over HTTP. */
const { database, table } = argument<{ database: string; table: string }>()
const work = implement(note, {
  run: async ({ id }) => {
    await setTimeout(20)
    return id
  },
})
const rows = notesIn(table, async (row) => {
  await setTimeout(20)
  return row.id
})
const gleaner = await openGleaner({
  database,
  tasks: [work],
  discoveries: [rows],
  timings: { sweep: '100ms', lease: '2s', idleMin: '50ms', idleMax: '200ms' },
})
gleaner.on('completed', ({ name, id }) => say('settled', { name, id }))
gleaner.work({ queues: ['notes'], discoveries: ['notes'], concurrency: 2 })
