import { openGleaner } from '../../src/index.ts'
import { monotonicMs } from '../clock.ts'
import { LIBRARY } from '../contenders/library.ts'
import type { Parent } from './role.ts'

/** Sends a signal whenever it is told to, and says when it began. */
export async function run({ place }: { place: string }, parent: Parent): Promise<void> {
  const database = place.startsWith('postgres:') ? place : `sqlite:${place}`
  const gleaner = await openGleaner({ database, sqlite: { driver: LIBRARY } })
  parent.tell('ready')
  for (;;) {
    const id = await parent.hear<string | null>('send')
    if (id === null) break
    const calledMs = monotonicMs()
    await gleaner.signal(id, 'go')
    parent.tell('called', calledMs)
  }
  await gleaner.close()
}
