import { expect, test } from 'vitest'
import { RESTART_DEFAULT, type Verdict } from '../../src/model/restart.ts'
import type { Legacy } from '../../src/supervisor/aftermath.ts'
import type { Child } from '../../src/supervisor/child.ts'
import { Restarts } from '../../src/supervisor/restarts.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

const KILLED = { code: null, signal: 'SIGKILL', error: null } as const
const HELD: Legacy = { inFlight: true, blamed: 'quick/1', workerBroken: false }
const NOTHING: Legacy = { inFlight: false, blamed: null, workerBroken: false }

/** A worker is killed while the database does not answer: its last frame says that it was idle. */
async function killedUnseen(inWindow: number) {
  const clock = new ManualClock()
  const restarts = new Restarts({ ...RESTART_DEFAULT, inWindow }, clock)
  const settled = Promise.withResolvers<Legacy>()
  const amended: Verdict[] = []
  const child = { ending: null, frame: { current: [], processed: 0 } } as unknown as Child
  const after = restarts.after({ child, exit: KILLED, settled: settled.promise }, (verdict) =>
    amended.push(verdict),
  )
  clock.advance(1_000)
  return { restarts, verdict: await after, amended, settled }
}

test('a crash that was guessed to be without an item is forgiven when the database tells of it', async () => {
  const { restarts, verdict, amended, settled } = await killedUnseen(1)
  expect(verdict.kind).toBe('give-up')
  expect(restarts.counts).toEqual({ recent: 1, total: 1 })
  settled.resolve(HELD)
  await settled.promise
  expect(amended).toEqual([{ kind: 'restart', afterMs: 0 }])
  expect(restarts.counts).toEqual({ recent: 0, total: 0 })
})

test('a crash of which the database knows nothing either stays counted', async () => {
  const { restarts, amended, settled } = await killedUnseen(5)
  settled.resolve(NOTHING)
  await settled.promise
  expect(amended).toEqual([])
  expect(restarts.counts).toEqual({ recent: 1, total: 1 })
})
