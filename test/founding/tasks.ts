import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { z } from 'zod'
import { defineDiscovery, defineResource, defineTask, ResourceError } from '../../src/index.ts'
import { say } from '../journeys/program.ts'

/** There while its file is. */
const camera = defineResource({
  name: 'camera',
  probe: () => {
    const file = process.env.FOUNDING_CAMERA
    return file === undefined || existsSync(file) || { reason: 'the camera is off', retryAfter: '50ms' }
  },
  load: async () => ({ on: true }),
})

/** With `breaks`, the camera goes off in the middle of the first run. */
export const film = defineTask({
  name: 'film',
  retry: { base: '10ms' },
  uses: { camera },
  input: z.object({ breaks: z.string().optional() }),
  run: ({ breaks }) => {
    if (breaks === undefined || !existsSync(breaks)) return 'filmed'
    rmSync(breaks)
    rmSync(process.env.FOUNDING_CAMERA!)
    throw new ResourceError('the camera went off')
  },
})

const model = defineResource({
  name: 'model',
  idleAfter: Number(process.env.FOUNDING_IDLE_MS ?? 1_000),
  load: async () => ({ weights: 1 }),
  unload: () => say('unloaded', { at: Date.now() }),
})

export const embed = defineTask({ name: 'embed', uses: { model }, run: (_, ctx) => ctx.use.model.weights })

/** Leaves a mark of each run. A row that says so waits for a file. */
export const files = defineDiscovery({
  name: 'files',
  table: process.env.FOUNDING_TABLE ?? 'files',
  key: 'id',
  where: 'done = 0',
  retry: { attempts: 5, base: '10ms' },
  run: async (row: Record<string, any>, ctx) => {
    say('row', { id: ctx.id, pid: process.pid })
    appendFileSync(process.env.FOUNDING_MARKS!, `${ctx.id}\n`)
    const file = process.env.FOUNDING_GO
    while (row.waits === 1 && file !== undefined && !existsSync(file)) {
      ctx.signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  },
  done: () => ({ done: 1 }),
})
