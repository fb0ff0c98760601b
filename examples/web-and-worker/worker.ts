// The worker: has the code. Run it in one terminal: node examples/web-and-worker/worker.ts
import { setTimeout as sleep } from 'node:timers/promises'
import { implement, openGleaner } from '../../src/index.ts' // in your own project: from 'gleaner'
import { database, thumbnail } from './tasks.ts'

const makeThumbnail = implement(thumbnail, {
  async run({ url, width }, ctx) {
    ctx.log.info('scaling', { url, width })
    await sleep(100, undefined, { signal: ctx.signal })
    return { path: `/thumbnails/${ctx.id}.webp`, bytes: width * 40 }
  },
})

const gleaner = await openGleaner({ database, tasks: [makeThumbnail] })
gleaner.on('completed', ({ id, durationMs }) =>
  console.log(`task ${id} done in ${Math.round(durationMs)} ms`),
)
gleaner.work({ concurrency: 4 })
console.log('working')

/** What runs is finished (for 10 s at most), what waits stays in the database. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => gleaner.close())
