// A pool that runs a Python program. Run `gleaner start` in this folder, then `gleaner enqueue`.
import { defineConfig } from '../../src/index.ts' // in your own project: from 'gleaner'
import { count } from './tasks.ts'

export default defineConfig({
  database: process.env.GLEANER_DATABASE || 'sqlite:./python.db',
  tasks: [count],
  pools: {
    python: { command: ['python3', 'worker.py'], processes: 2, queues: ['py'] },
  },
})
