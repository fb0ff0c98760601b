import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask } from 'gleaner'
import { z } from 'zod'

export const sendMail = defineTask({
  name: 'mail.send',
  input: z.object({ to: z.string() }),
  async run({ to }, ctx) {
    ctx.log.info('sending', { to })
    await sleep(1_000, undefined, { signal: ctx.signal })
    return { sent: to }
  },
})
