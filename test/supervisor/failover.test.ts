import { expect } from 'vitest'
import { ServerPair } from '../store/postgres/pair.ts'
import { until } from '../until.ts'
import { test as onFiles, pool, TORTURE } from './estate.ts'
import { quick, untilThere } from './tasks.ts'

/** Promotions of a standby whose primary was killed. */
const ROUNDS = 5

const test = onFiles.extend<{ pair: ServerPair }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs from here
  pair: async ({}, use) => {
    const pair = await ServerPair.start()
    await use(pair)
    await pair.stop()
  },
})

test.skipIf(!TORTURE).for(Array.from({ length: ROUNDS }, (_, round) => round))(
  'a supervisor and its worker processes follow a standby that is promoted when the primary was killed: %i',
  { timeout: 180_000 },
  async (_, { estate, pair }) => {
    estate.database = pair.url(pair.primary, pair.standby)
    const gleaner = await estate.gleaner()
    const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
    await estate.worker(supervisor, { phase: 'idle' }, 'worker:main:0')
    await estate.worker(supervisor, { phase: 'idle' }, 'worker:main:1')
    const held = await gleaner.enqueue(untilThere, { file: estate.file('go') })
    const first = await estate.hears('running')
    const acknowledged = await gleaner.enqueueMany(quick, [1, 2, 3])

    pair.kill(pair.primary)
    await pair.promote(pair.standby)
    const beganMs = performance.now()
    await until('something can be enqueued', () =>
      gleaner.enqueue(quick, 4).then(
        () => true,
        () => false,
      ),
    )
    for (const handle of acknowledged) expect(await handle.result({ timeout: '60s' })).toBeTypeOf('number')
    console.log(`work went on after ${Math.round(performance.now() - beganMs)} ms`)
    estate.touch('go')
    await held.result({ timeout: '60s' })
    // No process was replaced for it: a database that is away is no crash.
    process.kill(first.pid, 0)
    expect(supervisor.workers().map(({ restarts }) => restarts.total)).toEqual([0, 0])
    expect(await gleaner.maintenance.check()).toEqual([])
    await estate.clear()
  },
)
