import { expect, test } from 'vitest'
import { NOTHING_RECOVERED, type ProcessExit, type Recovered } from '../../src/model/exit.ts'
import { RESTART_DEFAULT, type RestartDecision } from '../../src/model/restart.ts'
import { Restarts } from '../../src/supervisor/restarts.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

/** Its last frame said that it was idle. */
const KILLED: ProcessExit = {
  code: null,
  signal: 'SIGKILL',
  error: null,
  requested: null,
  ready: true,
  currentJob: null,
  held: 0,
  processed: 0,
}
const HELD: Recovered = { inFlight: true, blamed: 'quick/1', workerBroken: false }

/** A worker is killed while the database does not answer: its last frame says that it was idle. */
async function killedUnseen(inWindow: number) {
  const clock = new ManualClock()
  const restarts = new Restarts({ ...RESTART_DEFAULT, inWindow }, clock)
  const recovering = Promise.withResolvers<Recovered>()
  const amended: RestartDecision[] = []
  const after = restarts.after(KILLED, recovering.promise, (decision) => amended.push(decision))
  clock.advance(1_000)
  return { restarts, decision: await after, amended, recovering }
}

test('a crash that was guessed to be without an item is forgiven when the database tells of it', async () => {
  const { restarts, decision, amended, recovering } = await killedUnseen(1)
  expect(decision.kind).toBe('give-up')
  expect(restarts.counts).toEqual({ recent: 1, total: 1 })
  recovering.resolve(HELD)
  await recovering.promise
  expect(amended).toEqual([{ kind: 'restart', afterMs: 0 }])
  expect(restarts.counts).toEqual({ recent: 0, total: 0 })
})

test('a crash of which the database knows nothing either stays counted', async () => {
  const { restarts, amended, recovering } = await killedUnseen(5)
  recovering.resolve(NOTHING_RECOVERED)
  await recovering.promise
  expect(amended).toEqual([])
  expect(restarts.counts).toEqual({ recent: 1, total: 1 })
})
