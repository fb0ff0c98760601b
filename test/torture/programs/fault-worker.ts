import { openGleaner } from '../../../src/index.ts'
import { argument, say, told } from '../../journeys/program.ts'
import { monotonicMs } from '../server/monotonic.ts'
import { discoveries, WORK } from '../server/work.ts'

/** Works until it is told to stop, whatever becomes of its database. */
const { database, work, timings } = argument<{ database: string; work: keyof typeof WORK; timings: object }>()
const gleaner = await openGleaner({ database, tasks: [...WORK[work]], discoveries, timings })
const begun = new Map<string, number>()
gleaner.on('started', ({ id }) => begun.set(id, monotonicMs()))
gleaner.on('completed', ({ id }) => {
  say('completed', { id, startedMs: begun.get(id) })
  begun.delete(id)
})
gleaner.on('problem', ({ message, error }) => say('problem', { message: `${message}: ${error}` }))
const worker = gleaner.work({ concurrency: 4 })
say('ready')
await told('stop')
await worker.stop()
await gleaner.close()
say('stopped')
