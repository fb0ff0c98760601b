// A schedule: Gleaner enqueues each occurrence once, however many processes there are.
import { defineTask } from '../../src/index.ts' // in your own project: from 'gleaner'

export const digest = defineTask({
  name: 'digest.send',
  every: '* * * * *',
  timezone: 'Europe/Amsterdam',
  async run(_input, ctx) {
    ctx.log.info('what was sold in the last minute')
    return { subscribers: 12 }
  },
})
