// What `gleaner start` keeps alive: three worker processes in two pools; and, while the dashboard is shown, one in Python and
// one for photos, of which one is poison, a task that recurs, and a limit.
import { join } from 'node:path'
import { defineConfig } from '../../src/index.ts' // in your own project: from 'gleaner'
import { count } from '../python/tasks.ts'
import { describe } from './catalogue.ts'
import { tagPhotos } from './photos.ts'
import { digest } from './recurring.ts'
import * as tasks from './tasks.ts'

const database = process.env.GLEANER_DATABASE || 'sqlite:./quickstart.db'
const products = describe(database)
const photos = tagPhotos(database)
/** Where the dashboard is to be; without it there is none. */
const port = process.env.QUICKSTART_PORT === undefined ? null : Number(process.env.QUICKSTART_PORT)
const more = {
  python: {
    command: ['python3', join(import.meta.dirname, '../python/worker.py')],
    processes: 1,
    queues: ['py'],
  },
  photos: { processes: 1, concurrency: 1, queues: [], discoveries: [photos.name] },
}

export default defineConfig({
  database,
  tasks: [...Object.values(tasks), count, ...(port === null ? [] : [digest])],
  discoveries: port === null ? [products] : [products, photos],
  queues: port === null ? {} : { media: { concurrency: 3 } },
  // It may be left open for days: of each queue the newest finished tasks are kept.
  retention: { completed: { count: 1_000 }, failed: { count: 200 }, cancelled: { count: 100 } },
  pools: {
    // Two pools, so that slow media tasks never keep the others waiting. The first one also looks after the products:
    // what needs work is found in their table, and nobody enqueues it.
    everyday: { processes: 2, concurrency: 4, queues: ['default'], discoveries: [products.name] },
    media: { processes: 1, concurrency: 3, queues: ['media'] },
    ...(port === null ? {} : more),
  },
  server: port === null ? false : { port },
  // One per run: the supervisor of a run that was killed may still be on its way out.
  supervisor: { name: `quickstart-${process.env.QUICKSTART_RUN ?? 0}`, timings: { drain: '2s' } },
})
