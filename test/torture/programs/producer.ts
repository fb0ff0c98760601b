import { type Gleaner, openGleaner } from '../../../src/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { effect, plain, tasks } from '../tasks.ts'
import { sqlite } from './library.ts'

/** Enqueues in every way there is until it is killed; says each id the moment it is promised. */
const { database } = argument<{ database: string }>()
const gleaner: Gleaner = await openGleaner({ database, sqlite, tasks })

const acknowledged = (handles: { id: string }[]) => say('acknowledged', { ids: handles.map(({ id }) => id) })

async function oneByOne(): Promise<void> {
  for (;;) acknowledged([await gleaner.enqueue(effect)])
}

async function together(): Promise<void> {
  for (;;) {
    await Promise.all(Array.from({ length: 5 }, async () => acknowledged([await gleaner.enqueue(effect)])))
  }
}

async function withExtras(): Promise<void> {
  const large = 'x'.repeat(4_000)
  for (let n = 0; ; n++) {
    const key = `${process.pid}/${n}`
    acknowledged([await gleaner.enqueue(plain, large, { key, runAfter: 30 })])
  }
}

async function many(): Promise<void> {
  for (;;) acknowledged(await gleaner.enqueueMany(plain, Array(10).fill(1)))
}

await Promise.all([oneByOne(), together(), withExtras(), many()])
