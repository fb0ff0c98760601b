import { propagation } from '@opentelemetry/api'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { inSpan } from './sdk.ts'

export const follow = defineTask({ name: 'follow', queue: 'mail', run: async () => {} })

/** Fails once, and leaves a task behind when it does not. */
export const embed = defineTask({
  name: 'embed',
  queue: 'ml',
  input: z.object({ path: z.string() }),
  retry: { attempts: 2, backoff: 'fixed', base: 1 },
  run: async ({ path }, ctx) => {
    if (ctx.attempt === 1) throw new Error(`cannot read ${path}`)
    await inSpan('the app’s own', async () => {})
    await ctx.enqueue(follow)
    return propagation.getActiveBaggage()?.getEntry('tenant')?.value ?? null
  },
})
