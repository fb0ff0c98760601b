import { defineTask } from '../../src/index.ts'
import { say, told } from '../journeys/program.ts'

/** In a test's own process its step is kept at once; in a child when the test says so. */
export const kept = defineTask({
  name: 'kept',
  retry: { attempts: 5, base: 0 },
  async run(_input, ctx) {
    try {
      const value = await ctx.step('keep', async () => {
        if (process.env.GLEANER_CHILD === undefined) return 'heir'
        say('inside', { id: ctx.id })
        await told('go')
        return 'late'
      })
      say('kept', { id: ctx.id })
      return value
    } catch (error) {
      say('refused', { id: ctx.id, error: String(error) })
      throw error
    }
  },
})
