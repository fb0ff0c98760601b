// What `gleaner start` runs: three worker processes in two pools. With the dashboard it also runs a worker in Python, one for
// photos (one photo kills it), a schedule and a limit.
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
/** The port of the dashboard. Without it there is no dashboard. */
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
  // The quickstart may run for days, so each queue keeps only its newest finished tasks.
  retention: { completed: { count: 1_000 }, failed: { count: 200 }, cancelled: { count: 100 } },
  pools: {
    // Two pools, so that slow media tasks never keep the others waiting. The first one also serves the products:
    // its workers find them in their table, without an enqueue.
    everyday: { processes: 2, concurrency: 4, queues: ['default'], discoveries: [products.name] },
    media: { processes: 1, concurrency: 3, queues: ['media'] },
    ...(port === null ? {} : more),
  },
  server: port === null ? false : { port },
  // A new name for each run: the supervisor of a killed run may not have ended yet.
  supervisor: { name: `quickstart-${process.env.QUICKSTART_RUN ?? 0}`, timings: { drain: '2s' } },
})
