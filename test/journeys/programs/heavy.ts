import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defineResource, defineTask, openGleaner } from '../../../src/index.ts'
import { argument, say, whenTold } from '../program.ts'

const HEAVY_BYTES = 200 * 2 ** 20

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const { database } = argument<{ database: string }>()

let loads = 0
const heavy = defineResource({
  name: 'heavy',
  load: async () => {
    loads += 1
    // Filled, so that it is there and not only promised.
    return Buffer.alloc(HEAVY_BYTES, loads)
  },
  unload: () => say('unloading', { loads }),
  idleAfter: '20ms',
})
const weigh = defineTask({
  name: 'weigh',
  uses: { heavy },
  run: (_, { use }) => {
    say('ran', { rss: process.memoryUsage.rss(), loads, byte: use.heavy[HEAVY_BYTES - 1] })
  },
})

const gleaner = await openGleaner({ database, tasks: [weigh] })
const worker = gleaner.work()
whenTold('weigh', ({ time }) => {
  collect()
  const { phase, resources } = worker.snapshot()
  say('weighed', { time, rss: process.memoryUsage.rss(), state: resources[0]?.state, phase })
})
whenTold('enqueue', () => void gleaner.enqueue(weigh))
say('ready')
