// What `gleaner start` keeps alive: three worker processes in two pools.
import { defineConfig } from '../../src/index.ts' // in your own project: from 'gleaner'
import { describe } from './catalogue.ts'
import * as tasks from './tasks.ts'

const database = process.env.GLEANER_DATABASE || 'sqlite:./quickstart.db'
const products = describe(database)

export default defineConfig({
  database,
  tasks: Object.values(tasks),
  discoveries: [products],
  pools: {
    // Two pools, so that slow media tasks never keep the others waiting. The first one also looks after the products:
    // what needs work is found in their table, and nobody enqueues it.
    everyday: { processes: 2, concurrency: 4, queues: ['default'], discoveries: [products.name] },
    media: { processes: 1, concurrency: 3, queues: ['media'] },
  },
  // One per run: the supervisor of a run that was killed may still be on its way out.
  supervisor: { name: `quickstart-${process.env.QUICKSTART_RUN ?? 0}`, timings: { drain: '2s' } },
})
