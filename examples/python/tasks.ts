import { z } from 'zod'
import { defineTask } from '../../src/index.ts' // in your own project: from 'gleaner'

/** It has no `run`, because worker.py runs it. `output` checks the result and gives it a type. */
export const count = defineTask({
  name: 'text.count',
  queue: 'py',
  input: z.object({ text: z.string() }),
  output: z.record(z.string(), z.number()),
})

/** `durable.py` does it, with a step and a wait for approval. */
export const ship = defineTask({
  name: 'order.ship',
  queue: 'py',
  input: z.object({ order: z.number() }),
  output: z.object({ payment: z.string(), by: z.string() }),
})
