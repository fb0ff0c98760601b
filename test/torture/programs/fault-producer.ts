import { setTimeout as sleep } from 'node:timers/promises'
import { type Gleaner, openGleaner } from '../../../src/index.ts'
import { argument, say, told } from '../../journeys/program.ts'
import { monotonicMs } from '../server/monotonic.ts'
import { slow, WORK } from '../server/work.ts'
import { effect, limited, plain } from '../tasks.ts'

/** Enqueues until it is told to stop, whatever becomes of its database; says each id the moment it is promised. */
const { database, work, timings } = argument<{ database: string; work: keyof typeof WORK; timings: object }>()
const gleaner: Gleaner = await openGleaner({ database, tasks: [...WORK[work]], timings })
gleaner.on('problem', ({ message, error }) => say('problem', { message: `${message}: ${error}` }))

const KINDS: (() => Promise<{ id: string }[]>)[] = [
  async () => [await gleaner.enqueue(effect)],
  async () => gleaner.enqueueMany(plain, [1, 2, 3]),
  async () => [await gleaner.enqueue(slow, 100)],
  async () => gleaner.enqueueMany(effect, [undefined, undefined], { atomic: true }),
  async () => [await gleaner.enqueue(plain, 'x'.repeat(4_000), { runAfter: 30 })],
  ...(work === 'limited' ? [async () => [await gleaner.enqueue(limited, 'tenant')]] : []),
]

let stopped = false
void told('stop').then(() => {
  stopped = true
})
say('ready')
for (let n = 0; !stopped; n++) {
  const startedMs = monotonicMs()
  try {
    const handles = await KINDS[n % KINDS.length]!()
    say('acknowledged', { ids: handles.map(({ id }) => id), startedMs })
  } catch (error) {
    say('refused', { code: (error as { code?: string }).code, message: String(error) })
  }
  // Not faster than the workers.
  await sleep(25)
}
await gleaner.close()
say('stopped')
