import { z } from 'zod'
import { defineTask } from '../../src/index.ts'

/** Known to the test and to the processes that it starts. */
export const where = defineTask({
  name: 'where',
  input: z.string(),
  run: (word) => ({ word, pid: process.pid }),
})

export const endless = defineTask({
  name: 'endless',
  run: (_: undefined, ctx) =>
    new Promise<never>((_resolve, reject) => {
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
    }),
})
