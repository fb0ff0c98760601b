import { defineTask, openGleaner } from '../../src/index.ts'
import { monotonicMs } from '../clock.ts'
import { LIBRARY } from '../contenders/library.ts'
import type { Parent } from './role.ts'

/** A worker whose tasks wait for a signal from another process. Tells when a task is suspended, and when it goes on. */
export async function run({ place }: { place: string }, parent: Parent): Promise<void> {
  const waiting = defineTask({
    name: 'waiting',
    async run(_input, ctx) {
      await ctx.waitFor('go')
      parent.tell('resumed', monotonicMs())
    },
  })
  const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
  const gleaner = await openGleaner({ database, sqlite: { driver: LIBRARY }, tasks: [waiting] })
  gleaner.on('suspended', ({ id }) => parent.tell('suspended', id))
  const worker = gleaner.work()
  parent.tell('ready')
  while (await parent.hear<boolean>('next')) await gleaner.enqueue(waiting)
  await worker.stop()
  await gleaner.close()
}
