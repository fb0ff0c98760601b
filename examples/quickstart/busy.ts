// The shop continues: a few tasks of each kind, all the time, so that the dashboard has something to show.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Gleaner } from '../../src/index.ts' // in your own project: from 'gleaner'
import { count } from '../python/tasks.ts'
import * as catalogue from './catalogue.ts'
import { hangUp } from './photos.ts'
import * as tasks from './tasks.ts'

const ROUND_MS = 1_500
/** Small enough to run for days without filling a disk. */
const WAITING_MAX = 200
const TEXT = 'to see a world in a grain of sand and a heaven in a wild flower '

export async function keepBusy(gleaner: Gleaner, database: string, over: AbortSignal): Promise<void> {
  for (let round = 0; !over.aborted; round++) {
    const { scheduled, queued, running } = await gleaner.tasks.counts()
    if (scheduled + queued + running < WAITING_MAX) await enqueueSome(gleaner, round)
    if (round % 15 === 0) await hangUp(database)
    if (round % 12 === 0) await catalogue.stockUp(database)
    await sleep(ROUND_MS, undefined, { signal: over }).catch(() => {})
  }
}

async function enqueueSome(gleaner: Gleaner, round: number): Promise<void> {
  const numbers = (many: number) => Array.from({ length: many }, (_, n) => ({ number: round * 10 + n }))
  const mails = numbers(8).map(({ number }) => ({ number, to: `customer-${number}@example.org` }))
  await gleaner.enqueueMany(tasks.mail, mails)
  await gleaner.enqueueMany(tasks.webhook, numbers(2))
  await gleaner.enqueueMany(tasks.resize, numbers(2))
  await gleaner.enqueueMany(count, [{ text: TEXT.repeat(200) }])
  if (round % 3 === 0) await gleaner.enqueueMany(tasks.charge, numbers(3), { priority: 10 })
  if (round % 12 === 0) await gleaner.enqueue(tasks.film, { number: round })
  await gleaner.enqueue(tasks.report, { number: round }, { runAfter: '20s' })
}
