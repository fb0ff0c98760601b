import { openStore } from '../../src/store/by-url/open.ts'
import { openSession, ROWS, SOURCE, STORE } from '../contenders/gleaner-rows.ts'
import { percentile } from '../statistics.ts'

/**
 * Finds and claims rows one by one, each in an exchange of its own, and settles them in others that are not counted. At the
 * store, because a worker asks for many at a time.
 */
export async function run(params: {
  place: string
  /** Those that come first in a process find nothing in any cache, and a processor that compiles what they run. */
  warmUp: number
  times: number
}): Promise<{ p50Ms: number; p99Ms: number }> {
  const database = params.place.startsWith('postgres:') ? params.place : `sqlite:${params.place}`
  const store = await openStore(database, STORE)
  await store.rows.planDiscoveries([SOURCE])
  const session = await openSession(store)
  const want = { discoveries: [ROWS.name], start: 1, ahead: 0, empty: false }
  const elapsed: number[] = []
  for (let time = -params.warmUp; time < params.times; time++) {
    const startedMs = performance.now()
    const { claims } = await store.rows.exchangeRows({ session, starts: [], outcomes: [], want })
    if (time >= 0) elapsed.push(performance.now() - startedMs)
    const [claim] = claims
    if (claim === undefined) throw new Error(`nothing was found the ${time + params.warmUp + 1}th time`)
    const outcome = { kind: 'completed', values: { todo: 0 }, retryAfterMs: 0 } as const
    const outcomes = [{ id: claim.id, fence: claim.fence, startedAt: Date.now(), outcome }]
    await store.rows.exchangeRows({ session, starts: [], outcomes, want: null })
  }
  await store.close()
  return { p50Ms: percentile(elapsed, 0.5), p99Ms: percentile(elapsed, 0.99) }
}
