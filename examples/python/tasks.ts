import { z } from 'zod'
import { defineTask } from '../../src/index.ts' // in your own project: from 'gleaner'

/** No `run`: it is in worker.py. `output` types the result, and checks it. */
export const count = defineTask({
  name: 'text.count',
  queue: 'py',
  input: z.object({ text: z.string() }),
  output: z.record(z.string(), z.number()),
})
